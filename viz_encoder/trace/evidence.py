"""Evidence: a layer's row sums and outputs, compared with its kernel's output."""

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.model.attention import signs
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.trace.row_walk import BLOCK_BYTES, BLOCK_BYTES_GPU, budget_of, walks


@dataclass(frozen=True)
class Evidence:
    """Evidence over all rows and heads of a layer; `error` is relative to the largest output."""

    error: float | None  # None without a signature
    at: tuple[int, int]  # head and query of the largest error
    row_sums: tuple[float, float] | None  # including sinks; None where every row is empty or NaN
    empty_rows: int
    nan_rows: int


Versions = tuple[int, ...]
_KEPT: "WeakKeyDictionary[LayerTrace, tuple[Versions, Evidence]]" = WeakKeyDictionary()


def evidence_of(layer: LayerTrace) -> Evidence:
    """Evidence from any sweep that covered all of this layer's rows, or from a new one."""
    versions, found = _KEPT.get(layer, (None, None))
    if found is None or versions != _versions(layer):
        found = weigh(layer, _checked_rows(layer))
    return found


def weigh(layer: LayerTrace, rows: Float[Tensor, "head checked query"]) -> Evidence:
    """Multiply rows by `check_columns`; the result is cached with the layer."""
    sums = rows[:, -1]
    whole = sums if layer.sink is None else sums + layer.sink
    whole = whole[(sums != 0) & ~sums.isnan()]
    error, at = None, (0, 0)
    if layer.signature is not None:
        errors = (rows[:, :-1].mT - layer.signature).abs().amax(dim=-1).nan_to_num(torch.inf)
        largest = float(layer.signature.abs().max()) or 1.0
        at = divmod(int(errors.argmax()), errors.shape[1])
        error = float(errors[at]) / largest
        error = math.inf if math.isnan(error) else error  # NaN would pass every comparison
    found = Evidence(
        error,
        at,
        (float(whole.min()), float(whole.max())) if len(whole) else None,
        int((sums == 0).sum()),
        int(sums.isnan().sum()),
    )
    _KEPT[layer] = _versions(layer), found
    return found


def check_columns(layer: LayerTrace) -> Float[Tensor, "head checked key"]:
    """Factors each row is multiplied by: V times its sign columns, one copy per query head, and
    ones.

    Laid out by key: with few columns, columnsᵀ · weightsᵀ is the fastest form and sums the most
    accurately.
    """
    v = layer.v.to(layer.wide)
    condensed = (v @ signs(v.shape[-1], v)).mT
    condensed = condensed.repeat_interleave(layer.n_heads // len(condensed), dim=0)
    ones = condensed.new_ones(layer.n_heads, 1, condensed.shape[2])
    return torch.cat([condensed, ones], dim=1)


def _checked_rows(layer: LayerTrace) -> Float[Tensor, "head checked query"]:
    columns = check_columns(layer)
    n_queries, n_keys = layer.q.shape[1], layer.k.shape[1]
    budget = budget_of(layer, BLOCK_BYTES, BLOCK_BYTES_GPU)
    step = min(n_queries, max(1, budget // (4 * n_keys)))
    found = columns.new_empty(layer.n_heads, columns.shape[1], n_queries)
    for walk in walks(layer, step, budget):
        for start in range(0, n_queries, step):
            rows = slice(start, min(start + step, n_queries))
            weights = walk.weights(rows)
            found[walk.heads, :, rows] = torch.bmm(columns[walk.heads], weights.mT)
    return found


def _versions(layer: LayerTrace) -> Versions:
    """In-place version counter of each tensor; those of inference mode have none."""
    parts = (layer.q, layer.k, layer.v, layer.mask, layer.bias, layer.signature)
    more = (layer.maps, layer.relative, layer.sink)
    held = [part for part in (*parts, *more) if part is not None]
    return tuple(-1 if part.is_inference() else part._version for part in held)
