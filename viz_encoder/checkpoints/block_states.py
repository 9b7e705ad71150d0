"""Whether a running model's blocks give our hidden states: a norm may hide it in the output."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn


@contextmanager
def blocks_watched(
    model: nn.Module, states: Sequence[Float[Tensor, "batch token d_model"]], tolerance: float
) -> Iterator[Callable[[], list[bool]]]:
    """Gives a function that says of each block whether it gave our state in the with block.

    Blocks are the children of a list of as many modules as there are states; of several lists it is
    the one that agrees most. A state is compared by its first token and the mean over its tokens,
    after all hooks of the block, so that nothing is kept.

    Args:
        model: what will run, on one sample.
        states: ours, after each block.
        tolerance: of the largest value.
    """
    lists = [
        list(part.children())
        for part in model.modules()
        if isinstance(part, nn.ModuleList | nn.Sequential) and len(part) == len(states)
    ]
    agree = [[False] * len(states) for _ in lists]
    handles = [
        block.register_forward_hook(_comparing(states[at], tolerance, agree[number], at))
        for number, blocks in enumerate(lists)
        for at, block in enumerate(blocks)
    ]
    try:
        yield lambda: max(agree, key=sum, default=[])
    finally:
        for handle in handles:
            handle.remove()


def _comparing(
    ours: Tensor, tolerance: float, agree: list[bool], at: int
) -> Callable[[nn.Module, Any, Any], None]:
    shape, expected = ours.shape[1:], _print(ours[0])

    def look(_: nn.Module, given: Any, out: Any) -> None:
        state = _one_sample(out, shape)
        if state is not None:
            apart = (_print(state) - expected).abs().max()
            agree[at] = bool(apart <= tolerance * expected.abs().max())

    return look


def _print(state: Float[Tensor, "token d_model"]) -> Float[Tensor, "print d_model"]:
    state = state.detach().float().cpu()
    return torch.stack([state[0], state.mean(dim=0)])


def _one_sample(out: Any, shape: torch.Size) -> Tensor | None:
    """A block's first tensor as "token d_model", if it may be hidden states of one sample."""
    values = list(out.values()) if isinstance(out, dict) else out
    first = values[0] if isinstance(values, list | tuple) and values else values
    if not isinstance(first, Tensor) or first.is_nested or not first.is_floating_point():
        return None
    if first.ndim == 3 and 1 in first.shape[:2]:
        first = first.flatten(0, 1)
    return first if first.shape == shape else None
