"""Mask panels: intended, passed and observed of one map, side by side on the same axes."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viz_encoder.arguments import Count, public
from viz_encoder.result import ArrayResult
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.intended import known_empty, require_fits
from viz_encoder.trace.map_view import Head, heads_of

MAX_SIDE = 512
FAINT = 1e-3  # share of a query's weight below which a key counts as faint


@dataclass(frozen=True, eq=False, repr=False)
class MaskPanels(ArrayResult, main="observed"):
    """Three readings of one map; cell (i, j) holds queries edges[i] … edges[i + 1] - 1.

    Its keys are key_edges[j] … key_edges[j + 1] - 1: the same, unless the keys are other tokens.
    intended and passed: whether any pair of the cell may attend; observed: its largest weight, a
    share of a query's total; leaking: whether a real query has weight, or NaN, on a key that the
    intent forbids. Below MAX_SIDE tokens every cell is one pair. In heads outside `where`, every
    pair counts as allowed. n_allowed: pairs that the intent allows to real queries; n_faint: those
    of them with a weight under 0.001, for allowed is not attended.
    """

    intended: Bool[np.ndarray, "row col"]
    passed: Bool[np.ndarray, "row col"]
    observed: Float[np.ndarray, "row col"]
    leaking: Bool[np.ndarray, "row col"]
    edges: Int[np.ndarray, " edge"]
    key_edges: Int[np.ndarray, " key_edge"]
    n_allowed: int
    n_faint: int


@public
def mask_panels(
    trace: Trace,
    intent: Bool[Tensor, "query key"],
    layer: int,
    head: Head = 0,
    *,
    where: Bool[np.ndarray, "layer head"] | None = None,
    size: Count = MAX_SIDE,
) -> MaskPanels:
    """The intended mask, the mask that ran, and the weights of a layer.

    Args:
        trace: the run.
        intent: True = this query may attend to this key.
        layer: counted from 0.
        head: one head, "mean" or "max" over all, or several heads whose mean is taken.
        where: the heads that the intent applies to; all if None.
        size: cells a side, at most.

    Raises:
        InputError: the intent is not bool, or not of the run's size.
        SelectionError: no such layer or head.
    """
    require_fits(trace, intent)
    heads, ran = heads_of(trace, layer, head), trace.layers[layer]
    judged = [one for one in heads if where is None or where[layer, one]]
    weights, forbidden = _fused(ran, head, heads), ~intent.cpu().numpy()
    theirs = weights if judged == heads else _fused(ran, head, judged)
    real = trace.valid.cpu().numpy()[:, None]
    leaking = (theirs != 0) & forbidden & real
    intended = ~forbidden if judged == heads else np.ones_like(forbidden)
    allowed = intended & real
    edges, key_edges = (_edges(count, size) for count in forbidden.shape)
    return MaskPanels(
        intended=_pool(intended, edges, key_edges),
        passed=_pool(_passed(ran, heads), edges, key_edges),
        observed=_pool(weights, edges, key_edges),
        leaking=_pool(leaking, edges, key_edges),
        edges=edges,
        key_edges=key_edges,
        n_allowed=int(allowed.sum()),
        n_faint=int((allowed & (weights < FAINT)).sum()),
    )


def _fused(layer: LayerTrace, head: Head, heads: list[int]) -> Float[np.ndarray, "query key"]:
    if not heads:
        return np.zeros((layer.q.shape[1], layer.k.shape[1]), np.float32)
    blocks = []
    for rows, first in layer.blocks(slice(heads[0], heads[0] + 1)):
        fused = known_empty(layer, first, heads[:1], rows)[0].cpu()
        for one in heads[1:]:
            found = layer.weights(slice(one, one + 1), rows)
            more = known_empty(layer, found, [one], rows)[0].cpu()
            fused = torch.maximum(fused, more) if head == "max" else fused + more
        blocks.append(fused if head == "max" else fused / len(heads))
    return torch.cat(blocks).numpy()


def _passed(layer: LayerTrace, heads: list[int]) -> Bool[np.ndarray, "query key"]:
    shape = layer.q.shape[1], layer.k.shape[1]
    if layer.mask is None:
        return np.ones(shape, dtype=bool)
    mask = layer.mask.cpu()
    chosen = mask[heads] if mask.shape[0] > 1 else mask
    return chosen.any(dim=0).expand(shape).numpy()


def _edges(count: int, size: int) -> Int[np.ndarray, " edge"]:
    return np.linspace(0, count, min(count, size) + 1).round().astype(np.int64)


def _pool(
    values: np.ndarray, edges: Int[np.ndarray, " edge"], key_edges: Int[np.ndarray, " key_edge"]
) -> np.ndarray:
    """The largest of each block; for bool, whether any is."""
    if (len(edges) - 1, len(key_edges) - 1) == values.shape:
        return np.array(values)
    rows = np.maximum.reduceat(values, edges[:-1], axis=0)
    return np.maximum.reduceat(rows, key_edges[:-1], axis=1)
