"""Observes each layer's head outputs and W_O's input while any model runs.

This is how an ablation is proved: whoever took a head out, by whatever way, here stands what
reached W_O.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from viz_encoder.trace.torch_ops import Operations


class HeadMode(Operations):
    """Gives every attention call's output to `heads`, and what that returns to the model.

    Attention comes out of the fused function, or of weights times values.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fused = False  # whether the fused function has attended
        self.by_softmax = False  # whether a softmax by hand has

    @property
    def eager(self) -> bool:
        """As record has it: a softmax beside the fused function is no attention."""
        return not self.fused

    def heads(self, mixed: Tensor, n_heads: int | None) -> Tensor:
        """Replace the heads' outputs before W_O; n_heads if known."""
        raise NotImplementedError

    def mixed_kinds(self) -> None:
        """The fused function attends after a softmax by hand, which record then leaves out."""

    def sdpa(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """scaled_dot_product_attention: its result is the heads."""
        self.fused = True
        if self.by_softmax:
            self.mixed_kinds()
        return self.heads(func(*args, **kwargs), self.n_heads)

    def multiply(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Weights times values, after a softmax."""
        attends = self._weights_in(args) is not None
        out = super().multiply(func, args, kwargs)
        self.by_softmax |= attends and self.n_heads is None
        return self.heads(out, self.n_heads) if attends else out


def by_head(
    mixed: Tensor, n_heads: int | None
) -> Float[Tensor, "*batch head token d_value"] | None:
    """The outputs with an axis for heads; None where they cannot be told apart."""
    if n_heads and mixed.ndim == 3:  # folded into the batch
        mixed = mixed.unflatten(0, (-1, n_heads))
    return mixed if mixed.ndim >= 4 else None


@dataclass(eq=False)
class SeenLayer:
    """One attention call, and the linear map applied to its heads."""

    said: Float[Tensor, "*batch head token d_value"]
    weight: Tensor | None = None  # W_O's, the very tensor
    entered: Float[Tensor, "*batch head token d_value"] | None = None  # input to W_O
    batch_first: bool = True  # in W_O's input


class HeadsSeen(HeadMode):
    """Watches a model and changes nothing: `layers` are its attention calls in order."""

    def __init__(self, known: "HeadsSeen | None" = None) -> None:
        """known: a run of the same model, whose W_O is looked at where heads were changed."""
        super().__init__()
        self.layers: list[SeenLayer] = []
        self._known = known

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run func; look at it if it is attention, or a linear map after it."""
        if func is F.linear and self.layers:
            self._linear(*args[:2])
        return super().__torch_function__(func, types, args, kwargs)

    def heads(self, mixed: Tensor, n_heads: int | None) -> Tensor:
        """Keep them, and let them through."""
        known = self._of_known()
        if n_heads is None and known is not None:
            n_heads = known.said.shape[-3]
        apart = by_head(mixed, n_heads)
        if apart is not None:
            self.layers.append(SeenLayer(apart.detach().clone()))
        return mixed

    def _of_known(self, back: int = 0) -> SeenLayer | None:
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
