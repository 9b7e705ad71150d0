"""Mask panels: intended, passed and observed of one map, side by side on the same axes."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viz_encoder.arguments import Count, public
from viz_encoder.errors import InputError
from viz_encoder.result import ArrayResult
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.map_view import Head, heads_of

MAX_SIDE = 512
FAINT = 1e-3  # of a query's weight: a key that gets less is hardly attended to


@dataclass(frozen=True, eq=False, repr=False)
class MaskPanels(ArrayResult, main="observed"):
    """Three readings of one map; cell (i, j) holds queries edges[i] … edges[i + 1] - 1, keys alike.

    intended and passed: whether any pair of the cell may attend; observed: its largest weight, a
    share of a query's total; leaking: whether a real query has weight on a key that the intent
    forbids. Below MAX_SIDE tokens every cell is one pair. In heads outside `where`, every pair
    counts as allowed. n_allowed: pairs that the intent allows to real queries; n_faint: those of
    them with a weight under 0.001, for allowed is not attended.
    """

    intended: Bool[np.ndarray, "row col"]
    passed: Bool[np.ndarray, "row col"]
    observed: Float[np.ndarray, "row col"]
    leaking: Bool[np.ndarray, "row col"]
    edges: Int[np.ndarray, " edge"]
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
    """What was meant, what the layer's attention got, and the weights it gave.

    Args:
        trace: a run of self-attention.
        intent: True = this query may attend to this key.
        layer: counted from 0.
        head: one head, "mean" or "max" over all, or several heads whose mean is taken.
        where: the heads that the intent applies to; all if None.
        size: cells a side, at most.

    Raises:
        InputError: the intent is not bool, or not of the run's size.
        SelectionError: no such layer or head.
    """
    n = trace.n_tokens
    if intent.dtype != torch.bool or tuple(intent.shape) != (n, n):
        raise InputError(
            f"The intended mask is {intent.dtype} of shape {tuple(intent.shape)}; this run needs "
            f"torch.bool of shape {(n, n)}, True = may attend."
        )
    heads, ran = heads_of(trace, layer, head), trace.layers[layer]
    judged = [one for one in heads if where is None or where[layer, one]]
    weights, forbidden = _fused(ran, head, heads), ~intent.cpu().numpy()
    theirs = weights if judged == heads else _fused(ran, head, judged)
    real = trace.valid.cpu().numpy()[:, None]
    leaking = (theirs > 0) & forbidden & real
    intended = ~forbidden if judged == heads else np.ones_like(forbidden)
    allowed = intended & real
    edges = np.linspace(0, n, min(n, size) + 1).round().astype(np.int64)
    return MaskPanels(
        intended=_pool(intended, edges),
        passed=_pool(_passed(ran, heads), edges),
        observed=_pool(weights, edges),
        leaking=_pool(leaking, edges),
        edges=edges,
        n_allowed=int(allowed.sum()),
        n_faint=int((allowed & (weights < FAINT)).sum()),
    )


def _fused(layer: LayerTrace, head: Head, heads: list[int]) -> Float[np.ndarray, "query key"]:
    """The whole map, float32; NaN, which other models give for empty rows, counts as 0."""
    if not heads:
        return np.zeros((layer.q.shape[1], layer.k.shape[1]), np.float32)
    blocks = []
    for rows, first in layer.blocks(slice(heads[0], heads[0] + 1)):
        fused = first[0].float().nan_to_num().cpu()
        for one in heads[1:]:
            more = layer.weights(slice(one, one + 1), rows)[0].float().nan_to_num().cpu()
            fused = torch.maximum(fused, more) if head == "max" else fused + more
        blocks.append(fused if head == "max" else fused / len(heads))
    return torch.cat(blocks).numpy()


def _passed(layer: LayerTrace, heads: list[int]) -> Bool[np.ndarray, "query key"]:
    n = layer.q.shape[1]
    if layer.mask is None:
        return np.ones((n, n), dtype=bool)
    mask = layer.mask.cpu()
    chosen = mask[heads] if mask.shape[0] > 1 else mask
    return chosen.any(dim=0).expand(n, n).numpy()


def _pool(values: np.ndarray, edges: Int[np.ndarray, " edge"]) -> np.ndarray:
    """The largest of each block; for bool, whether any is."""
    if len(edges) > len(values):
        return np.array(values)
    starts = edges[:-1]
    return np.maximum.reduceat(np.maximum.reduceat(values, starts, axis=0), starts, axis=1)


ANALYSES = (mask_panels,)
