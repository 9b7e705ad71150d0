"""Mask leaks: an intended mask against what each layer got and every weight it gave."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viz_encoder.arguments import public
from viz_encoder.errors import InputError
from viz_encoder.result import ArrayResult
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.intended import known_empty, require_fits


@dataclass(frozen=True, eq=False, repr=False)
class MaskLeaks(
    ArrayResult, main="leak", table={"leak": "leak", "mass": "mass", ("query", "key"): "at"}
):
    """Weights that a run's maps put where an intended mask forbids.

    leak[l, h] is the largest weight on a forbidden pair, at[l, h] its query and key; 0 and (-1, -1)
    if there is none; NaN where such weights are NaN, at then naming the first. mass[l, h] is the
    share of their weight that real queries put on forbidden keys, a mean. Weights are shares of a
    query's total, 0 … 1. Padding queries do not count. In heads outside `where`, for which the mask
    was not meant, both are NaN and at is (-1, -1).
    """

    leak: Float[np.ndarray, "layer head"]
    mass: Float[np.ndarray, "layer head"]
    at: Int[np.ndarray, "layer head 2"]
    extra: Int[np.ndarray, " layer"]  # pairs that the layer's mask allows and the intent forbids
    missing: Int[np.ndarray, " layer"]  # pairs that the intent allows and the layer's mask forbids
    empty: tuple[int, ...]  # real queries that the intent leaves without any key


@public
def mask_leaks(
    trace: Trace,
    intent: Bool[Tensor, "query key"],
    where: Bool[np.ndarray, "layer head"] | None = None,
) -> MaskLeaks:
    """Weights on pairs that `intent` forbids, for every layer and head, block by block.

    Args:
        trace: the run.
        intent: True = this query may attend to this key; one mask for all layers. In
            cross-attention, and where earlier keys were cached, keys are as many as ran.
        where: the heads that the intent applies to; only these are checked. All if None.

    Raises:
        InputError: intent or where is not bool, or its shape does not fit the run.
    """
    require_fits(trace, intent)
    intent = intent.cpu()
    real = trace.valid.cpu()
    found = [_layer(layer, intent, real) for layer in trace.layers]
    judged = _judged(trace, where)
    counted = [
        _passed(layer, intent, real, heads)
        for layer, heads in zip(trace.layers, judged, strict=True)
    ]
    empty = (real & ~intent.any(dim=1)).nonzero()[:, 0].tolist()
    leak, mass, at = (np.stack(part) for part in zip(*found, strict=True))
    extra, missing = (np.array(part) for part in zip(*counted, strict=True))
    leak[~judged], mass[~judged], at[~judged] = np.nan, np.nan, -1
    return MaskLeaks(leak, mass, at, extra, missing, tuple(empty))


def _layer(
    layer: LayerTrace, intent: Bool[Tensor, "query key"], real: Bool[Tensor, " query"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    leak = torch.zeros(layer.n_heads)
    mass = torch.zeros(layer.n_heads)
    at = torch.full((layer.n_heads, 2), -1)
    every = list(range(layer.n_heads))
    for rows, weights in layer.blocks(slice(0, layer.n_heads)):
        counted = (~intent[rows] & real[rows, None]).to(weights.device)
        forbidden = known_empty(layer, weights, every, rows).masked_fill(~counted, 0.0)
        mass += forbidden.sum(dim=(1, 2)).cpu()
        largest, place = forbidden.flatten(1).max(dim=1)
        worse = (largest.cpu() > leak) | (largest.cpu().isnan() & ~leak.isnan())
        for head in worse.nonzero()[:, 0].tolist():
            leak[head] = largest[head]
            query, key = divmod(int(place[head]), weights.shape[2])
            at[head] = torch.tensor([rows.start + query, key])
    return leak.numpy(), (mass / real.sum()).numpy(), at.numpy()


def _judged(
    trace: Trace, where: Bool[np.ndarray, "layer head"] | None
) -> Bool[np.ndarray, "layer head"]:
    shape = len(trace.layers), trace.layers[0].n_heads
    if where is None:
        return np.ones(shape, dtype=bool)
    given = np.asarray(where)
    if given.dtype != bool or given.shape != shape:
        raise InputError(
            f"where is {given.dtype} of shape {given.shape}; give bool of shape {shape}, one value "
            "per layer and head."
        )
    return given


def _passed(
    layer: LayerTrace,
    intent: Bool[Tensor, "query key"],
    real: Bool[Tensor, " query"],
    judged: Bool[np.ndarray, " head"],
) -> tuple[int, int]:
    """Pairs of real queries that only the layer allows, and those that only the intent does."""
    if not judged.any():
        return 0, 0
    if layer.mask is None:
        passed = torch.ones_like(intent)
    else:
        mask = layer.mask.cpu()
        chosen = mask[torch.from_numpy(judged)] if mask.shape[0] > 1 else mask
        passed = chosen.any(dim=0).expand_as(intent)
    counted = real[:, None]
    return int((passed & ~intent & counted).sum()), int((intent & ~passed & counted).sum())
