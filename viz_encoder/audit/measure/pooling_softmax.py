"""Detects pooling by softmax weights, one for each token of a sample."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

SOFTMAX = (torch.softmax, F.softmax, Tensor.softmax)


class _Watch(TorchFunctionMode):
    """Records the shape of each softmax, and the size of the axis that it normalizes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[tuple[int, ...], int]] = []

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
            self.seen.append((tuple(out.shape), out.shape[dim]))
        return out


def pools_by_softmax(run: Callable[[], Any], valid: Tensor) -> bool:
    """Whether a softmax runs over the tokens, and no other axis holds them, as queries would."""
    watch = _Watch()
    with watch:
        run()
    n_samples, n_tokens = valid.shape
    return any(
        shape[:1] == (n_samples,) and over == n_tokens and shape.count(n_tokens) == 1
        for shape, over in watch.seen
    )
