"""Received: how much attention each token received in one layer, from all heads and queries."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.errors import SelectionError
from viz_encoder.trace.layer import LayerTrace


def received(
    layer: LayerTrace, valid: Bool[Tensor, " token"] | None = None
) -> Float[Tensor, " token"]:
    """Mean over the heads and the valid queries of the weight on each key.

    Raises:
        SelectionError: the keys are other tokens than the queries.
    """
    if layer.cross:
        raise SelectionError(
            "These keys are other tokens than the queries, so the tokens received no attention; "
            "choose self-attention."
        )
    n_queries = layer.q.shape[1]
    asked = torch.ones(n_queries, device=layer.q.device) if valid is None else valid
    asked = asked.to(layer.q.device, layer.wide)
    total = asked.new_zeros(layer.k.shape[1])
    for rows, weights in layer.blocks(slice(0, layer.n_heads)):
        total += asked[rows] @ weights.sum(dim=0)
    return total / (asked.sum() * layer.n_heads)
