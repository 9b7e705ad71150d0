"""Compares an intended mask with the maps that ran, and explains empty rows."""

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.errors import InputError
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.trace.trace import Trace


def require_fits(trace: Trace, intent: Tensor) -> None:
    """Raise if the intended mask's size differs from the maps'.

    Raises:
        InputError: it is not bool, or its queries or keys do not match the run.
    """
    shape = trace.n_tokens, trace.layers[0].k.shape[1]
    if intent.dtype != torch.bool or tuple(intent.shape) != shape:
        keys = "" if shape[0] == shape[1] else ", (query, key)"
        raise InputError(
            f"The intended mask is {intent.dtype} of shape {tuple(intent.shape)}; this run needs "
            f"torch.bool of shape {shape}{keys}, True = may attend."
        )


def known_empty(
    layer: LayerTrace, weights: Float[Tensor, "head query key"], heads: list[int], rows: slice
) -> Float[Tensor, "head query key"]:
    """Set rows of queries that may attend to nothing to 0, where other models give NaN."""
    weights = weights.float()
    if layer.mask is None:
        return weights
    mask = layer.mask[heads] if layer.mask.shape[0] > 1 else layer.mask
    mask = mask[:, rows] if mask.shape[1] > 1 else mask
    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
