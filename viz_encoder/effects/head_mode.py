"""HeadMode: intercepts the outputs of a running model's heads before W_O mixes them."""

from collections.abc import Callable
from typing import Any

from jaxtyping import Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from viz_encoder.trace.mask_parsing import GivenMasks
from viz_encoder.trace.softmax import SeenSoftmax
from viz_encoder.trace.torch_ops import Operations


class HeadMode(TorchFunctionMode):
    """Gives every attention call's output to `heads`, and what that returns to the model."""

    def __init__(self) -> None:
        """Models that compute their softmax themselves are seen until another kind attends."""
        super().__init__()
        self.masks, self.eager = GivenMasks(), True
        self.by_softmax = False  # whether a softmax by hand has attended
        self._operations = _Outputs(self)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run func, by way of what looks at it if it is part of attention."""
        handler = self._operations.handler(func)
        return handler(func, args, kwargs or {}) if handler else func(*args, **(kwargs or {}))

    def tell(self, make: Callable[[], Any]) -> None:
        """Ignore calls: nothing is kept of them."""

    def softened(self, seen: SeenSoftmax) -> None:
        """Nor of a softmax."""

    def heads(self, mixed: Tensor, n_heads: int | None) -> Tensor:
        """Replace the heads' outputs before W_O; n_heads if known."""
        raise NotImplementedError

    def mixed_kinds(self) -> None:
        """The fused function attends after a softmax by hand, which record then leaves out."""


class _Outputs(Operations):
    """The two places where attention comes out: the fused function, and weights times values."""

    caller: HeadMode

    def sdpa(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """scaled_dot_product_attention: its result is the heads."""
        self.caller.eager = False  # as record has it: a softmax beside it is no attention
        if self.caller.by_softmax:
            self.caller.mixed_kinds()
        return self.caller.heads(func(*args, **kwargs), self.n_heads)

    def multiply(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Weights times values, after a softmax."""
        attends = self._weights_in(args) is not None
        out = super().multiply(func, args, kwargs)
        self.caller.by_softmax |= attends and self.n_heads is None
        return self.caller.heads(out, self.n_heads) if attends else out


def by_head(
    mixed: Tensor, n_heads: int | None
) -> Float[Tensor, "*batch head token d_value"] | None:
    """The outputs with an axis for heads; None where they cannot be told apart."""
    if n_heads and mixed.ndim == 3:  # folded into the batch
        mixed = mixed.unflatten(0, (-1, n_heads))
    return mixed if mixed.ndim >= 4 else None
