"""Finds the softmax weights, one for each token of a sample, by which tokens are pooled."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from viz_encoder.model.masks import Valid

SOFTMAX = (torch.softmax, F.softmax, Tensor.softmax)


class _Watch(TorchFunctionMode):
    """Records each softmax, and the axis that it normalizes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Tensor, int]] = []

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run it, and record it if it is a softmax."""
        named = kwargs or {}
        out = func(*args, **named)
        dim = named.get("dim", args[1] if len(args) > 1 else None)
        if func in SOFTMAX and isinstance(out, Tensor) and isinstance(dim, int):
            self.seen.append((out.detach(), dim))
        return out


def pooling_weights(run: Callable[[], Any], valid: Valid) -> Float[Tensor, "batch token"] | None:
    """The largest weight of each token in a softmax over the tokens; None if there is none.

    No other axis holds the tokens, as queries would.
    """
    watch = _Watch()
    with watch:
        run()
    n_samples, n_tokens = valid.shape
    found = [
        weights.movedim(dim, 1).flatten(2).amax(dim=2) if weights.ndim > 2 else weights
        for weights, dim in watch.seen
        if weights.shape[:1] == (n_samples,)
        and weights.shape[dim] == n_tokens
        and weights.shape.count(n_tokens) == 1
    ]
    return torch.stack(found).amax(dim=0) if found else None
