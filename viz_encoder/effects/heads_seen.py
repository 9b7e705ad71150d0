"""What each layer's heads gave, and what W_O was then given: seen from outside, as the model runs.

This is how an ablation is proved: whoever took a head out, by whatever way, here stands what
reached W_O.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from viz_encoder.trace.mask_parsing import GivenMasks
from viz_encoder.trace.torch_ops import Operations


@dataclass(eq=False)
class Layer:
    """One attention call, and the linear map that took its heads."""

    said: Float[Tensor, "*batch head token d_value"]
    weight: Tensor | None = None  # W_O's, the very tensor
    entered: Float[Tensor, "*batch head token d_value"] | None = None  # what W_O was given
    batch_first: bool = True  # in W_O's input


class HeadsSeen(TorchFunctionMode):
    """Watches a model: `layers` are its attention calls in the order they ran."""

    def __init__(self, known: "HeadsSeen | None" = None) -> None:
        """known: a run of the same model, whose W_O is looked at where heads were changed."""
        super().__init__()
        self.masks, self.eager = GivenMasks(), True
        self.layers: list[Layer] = []
        self._known = known
        self._operations = _Looking(self)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run func; look at it if it is attention, or the first linear map after it."""
        given = kwargs or {}
        handler = self._operations.handler(func)
        if handler is not None:
            return getattr(self._operations, handler.__name__)(func, args, given)
        if func is F.linear and self.layers:
            self._linear(*args[:2])
        return func(*args, **given)

    def tell(self, make: Callable[[], Any]) -> None:
        """Nothing is kept but the heads."""

    def attended(self, mixed: Tensor, n_heads: int | None) -> None:
        """A layer's heads have spoken."""
        known = self._of_known()
        if n_heads is None and known is not None:
            n_heads = known.said.shape[-3]
        folded = mixed.unflatten(0, (-1, n_heads)) if n_heads and mixed.ndim == 3 else mixed
        if folded.ndim >= 4:
            self.layers.append(Layer(folded.detach().clone()))

    def _of_known(self, back: int = 0) -> Layer | None:
        """The layer of the known run that comes now, or came just before."""
        number = len(self.layers) - back
        layers = [] if self._known is None else self._known.layers
        return layers[number] if number < len(layers) else None

    def _linear(self, x: Tensor, weight: Tensor) -> None:
        """Whether this linear map is the last layer's W_O."""
        layer, known = self.layers[-1], self._of_known(back=1)
        if layer.weight is not None or x.numel() != layer.said.numel():
            return
        if self._known is None:
            for batch_first in (True, False):
                heads = _unfolded(x, layer.said, batch_first)
                if heads is not None and torch.equal(heads, layer.said):
                    layer.weight, layer.entered = weight, heads.detach().clone()
                    layer.batch_first = batch_first
                    return
        elif known is not None and known.weight is weight:
            heads = _unfolded(x, layer.said, known.batch_first)
            if heads is not None:
                layer.weight, layer.entered = weight, heads.detach().clone()


class _Looking(Operations):
    """Looks at what the heads give."""

    caller: HeadsSeen

    def sdpa(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """scaled_dot_product_attention: its result is the heads."""
        self.caller.eager = False
        mixed = func(*args, **kwargs)
        self.caller.attended(mixed, self.n_heads)
        return mixed

    def multiply(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Weights times values, after a softmax."""
        attends = self._softmax_in(args) is not None
        out = super().multiply(func, args, kwargs)
        if attends:
            self.caller.attended(out, self.n_heads)
        return out


def _unfolded(x: Tensor, said: Tensor, batch_first: bool) -> Tensor | None:
    """W_O's input "batch token (head d_value)" or "token batch (head d_value)" by head."""
    n_heads, n_tokens, d_value = said.shape[-3:]
    if x.shape[-1] != n_heads * d_value:
        return None
    n_batch = said.numel() // (n_heads * n_tokens * d_value)
    if batch_first:
        heads = x.reshape(n_batch, n_tokens, n_heads, d_value).permute(0, 2, 1, 3)
    else:
        heads = x.reshape(n_tokens, n_batch, n_heads, d_value).permute(1, 2, 0, 3)
    return heads.reshape(said.shape)
