"""WrittenOut: run an encoder with its maps written out, each a tensor that gradients reach."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from viz_encoder.model.attention import attention_weights


class WrittenOut(TorchFunctionMode):
    """While it is entered, attention runs as softmax and product, and its maps are kept.

    A map that is kept is the very tensor that the values were mixed by, so gradients reach it. Only
    calls of this thread are written out, so a shared model may run elsewhere at the same time.
    Dropout of maps is left out.

    Attributes:
        maps: one "batch head query key" a layer, float32 at least, in the order of the run.
    """

    def __init__(self) -> None:
        super().__init__()
        self.maps: list[Tensor] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Take the calls of the fused kernel, and let all others pass."""
        if func is F.scaled_dot_product_attention:
            return self._attend(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def _attend(
        self,
        q: Float[Tensor, "batch head query d_head"],
        k: Float[Tensor, "batch head key d_head"],
        v: Float[Tensor, "batch head key d_value"],
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        scale: float | None = None,
    ) -> Float[Tensor, "batch head query d_value"]:
        mask, bias = attn_mask, None
        if attn_mask is not None and attn_mask.is_floating_point():
            mask = attn_mask != -torch.inf
            bias = attn_mask.masked_fill(~mask, 0.0)
        weights = attention_weights(q, k, mask, scale, bias)
        if not weights.requires_grad:  # frozen weights
            weights.requires_grad_()
        self.maps.append(weights)
        return weights.to(v.dtype) @ v
