"""Evidence: what one layer's rows sum to and give, held against what its kernel put out."""

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
    """Of one layer, every row of every head; `error` is relative to its largest output."""

    error: float | None  # None without a signature
    at: tuple[int, int]  # head and query of that error
    row_sums: tuple[float, float] | None  # with sinks; None where every row is empty or NaN
    empty_rows: int
    nan_rows: int


Versions = tuple[int, ...]
_KEPT: "WeakKeyDictionary[LayerTrace, tuple[Versions, Evidence]]" = WeakKeyDictionary()


def evidence_of(layer: LayerTrace) -> Evidence:
    """Found by any sweep that went through all of this layer's rows, or by one of its own."""
    versions, found = _KEPT.get(layer, (None, None))
    if found is None or versions != _versions(layer):
        found = weigh(layer, _checked_rows(layer))
    return found


def weigh(layer: LayerTrace, rows: Float[Tensor, "head checked query"]) -> Evidence:
    """Of each row its products with `check_columns`; what is found is kept with the layer."""
    sums = rows[:, -1]
    whole = sums if layer.sink is None else sums + layer.sink
    whole = whole[(sums != 0) & ~sums.isnan()]
    error, at = None, (0, 0)
    if layer.signature is not None:
        errors = (rows[:, :-1].mT - layer.signature).abs().amax(dim=-1).nan_to_num(torch.inf)
        largest = float(layer.signature.abs().max()) or 1.0
        at = divmod(int(errors.argmax()), errors.shape[1])
        error = float(errors[at]) / largest
        error = math.inf if math.isnan(error) else error  # else no comparison would see it
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
    """V times its sign columns, one copy a query head, and ones: what each row is multiplied by.

    Laid out by key, because a product with few columns is quickest, and adds up in short sums,
    when it is taken as columnsᵀ · weightsᵀ.
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
    """How often each tensor was changed in place; one that was made in inference mode cannot be."""
    parts = (layer.q, layer.k, layer.v, layer.mask, layer.bias, layer.signature)
    more = (layer.maps, layer.relative, layer.sink)
    held = [part for part in (*parts, *more) if part is not None]
    return tuple(-1 if part.is_inference() else part._version for part in held)
