"""An intended mask against what each layer got and every weight it gave; one map in panels."""

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
    _require_fits(trace, intent)
    intent = intent.cpu()
    real = trace.valid.cpu()
    found = [_layer(layer, intent, real) for layer in trace.layers]
    judged = _judged(trace, where)
    extra, missing = np.zeros((2, len(judged)), np.int64)
    for number, layer in enumerate(trace.layers):
        if judged[number].any():
            passed = _passed(layer, judged[number].nonzero()[0].tolist())
            extra[number] = int((passed & ~intent & real[:, None]).sum())
            missing[number] = int((intent & ~passed & real[:, None]).sum())
    empty = (real & ~intent.any(dim=1)).nonzero()[:, 0].tolist()
    leak, mass, at = (np.stack(part) for part in zip(*found, strict=True))
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
        forbidden = _known_empty(layer, weights, every, rows).masked_fill(~counted, 0.0)
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


def _passed(layer: LayerTrace, heads: list[int]) -> Bool[Tensor, "query key"]:
    """The pairs that the layer's own mask allows in some of these heads."""
    shape = layer.q.shape[1], layer.k.shape[1]
    if layer.mask is None:
        return torch.ones(shape, dtype=torch.bool)
    mask = layer.mask.cpu()
    chosen = mask[heads] if mask.shape[0] > 1 else mask
    return chosen.any(dim=0).expand(shape)


MAX_SIDE = 512
FAINT = 1e-3  # share of a query's weight below which a key counts as faint


@dataclass(frozen=True, eq=False, repr=False)
class MaskPanels(ArrayResult, main="observed"):
    """Three readings of one map; cell (i, j) holds queries edges[i] … edges[i + 1] - 1.

    Its keys are key_edges[j] … key_edges[j + 1] - 1: the same, unless the keys are other tokens.
    intended and passed: whether any pair of the cell may attend; observed: its largest weight, a
    share of a query's total; leaking: whether a real query has weight, or NaN, on a key that the
    intent forbids; lost: whether it is blocked, although the intent allows it to a real query.
    Below MAX_SIDE tokens every cell is one pair. In heads outside `where`, what was passed counts
    as intended. n_allowed: pairs that the intent allows to real queries; n_lost: those of them that
    are blocked; n_faint: those of the others with a weight under 0.001: allowed is not attended.
    """

    intended: Bool[np.ndarray, "row col"]
    passed: Bool[np.ndarray, "row col"]
    observed: Float[np.ndarray, "row col"]
    leaking: Bool[np.ndarray, "row col"]
    lost: Bool[np.ndarray, "row col"]
    edges: Int[np.ndarray, " edge"]
    key_edges: Int[np.ndarray, " key_edge"]
    n_allowed: int
    n_lost: int
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
    _require_fits(trace, intent)
    heads, ran = heads_of(trace, layer, head), trace.layers[layer]
    judged = [one for one in heads if where is None or where[layer, one]]
    weights, forbidden = _fused(ran, head, heads), ~intent.cpu().numpy()
    theirs = weights if judged == heads else _fused(ran, head, judged)
    real = trace.valid.cpu().numpy()[:, None]
    leaking = (theirs != 0) & forbidden & real
    passed = _passed(ran, heads).numpy()
    intended = ~forbidden if judged == heads else passed
    allowed, lost = intended & real, intended & ~passed & real
    edges, key_edges = (_edges(count, size) for count in forbidden.shape)
    return MaskPanels(
        intended=_pool(intended, edges, key_edges),
        passed=_pool(passed, edges, key_edges),
        observed=_pool(weights, edges, key_edges),
        leaking=_pool(leaking, edges, key_edges),
        lost=_pool(lost, edges, key_edges),
        edges=edges,
        key_edges=key_edges,
        n_allowed=int(allowed.sum()),
        n_lost=int(lost.sum()),
        n_faint=int((allowed & ~lost & (weights < FAINT)).sum()),
    )


def _fused(layer: LayerTrace, head: Head, heads: list[int]) -> Float[np.ndarray, "query key"]:
    if not heads:
        return np.zeros((layer.q.shape[1], layer.k.shape[1]), np.float32)
    blocks = []
    for rows, first in layer.blocks(slice(heads[0], heads[0] + 1)):
        fused = _known_empty(layer, first, heads[:1], rows)[0].cpu()
        for one in heads[1:]:
            found = layer.weights(slice(one, one + 1), rows)
            more = _known_empty(layer, found, [one], rows)[0].cpu()
            fused = torch.maximum(fused, more) if head == "max" else fused + more
        blocks.append(fused if head == "max" else fused / len(heads))
    return torch.cat(blocks).numpy()


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


def _require_fits(trace: Trace, intent: Tensor) -> None:
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


def _known_empty(
    layer: LayerTrace, weights: Float[Tensor, "head query key"], heads: list[int], rows: slice
) -> Float[Tensor, "head query key"]:
    """Set rows of queries that may attend to nothing to 0, where other models give NaN."""
    weights = weights.float()
    if layer.mask is None:
        return weights
    mask = layer.mask[heads] if layer.mask.shape[0] > 1 else layer.mask
    mask = mask[:, rows] if mask.shape[1] > 1 else mask
    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
