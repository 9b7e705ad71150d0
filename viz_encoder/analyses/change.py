"""Change: how far each head's map moved between two runs of the same length."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult
from viz_encoder.trace import LayerTrace, Trace

BLOCK_BYTES = 2**20  # of one head's rows at a time, few enough to stay in the processor's cache
BLOCK_BYTES_GPU = 2**26


@dataclass(frozen=True, eq=False, repr=False)
class LayerChange(ArrayResult, main="heads"):
    """How far the maps of one layer's heads are from those of the reference, 0 … 1.

    heads[h] is the mean over the queries counted of the total variation distance between the two
    rows, ½ Σ |a − b|: the share of a query's weight that lies on other keys. 0 = the same map,
    1 = no key in common; a row of zeros, of a query that may attend to nothing, is ½ away from any
    other. Rows and keys are compared by position, whatever tokens stand there. NaN where no query
    is counted.
    """

    heads: Float[np.ndarray, " head"]
    n_queries: int  # counted: those that are real, not padding, in both runs


def layer_change(reference: Trace, trace: Trace, layer: int) -> LayerChange:
    """The change of every head of a layer against another run; a block of one head is held at once.

    It says that two maps differ, not why, nor whether the model's answer would.

    Args:
        reference: the run to compare with.
        trace: the run that is looked at.
        layer: counted from 0, in both.

    Raises:
        SelectionError: no such layer, or maps of other sizes.
    """
    before, after = (_layer(run, layer) for run in (reference, trace))
    if _sizes(before) != _sizes(after):
        raise SelectionError(
            f"The maps of layer {layer} differ in size: the reference has {_said(before)}, "
            f"this run {_said(after)}. Only maps of the same size can be subtracted; compare "
            "statistics instead."
        )
    real = (reference.valid.cpu() & trace.valid.cpu()).numpy()
    sums = [_sum(before, after, head, real) for head in range(after.n_heads)]
    n_queries = int(real.sum())
    values = np.array(sums) / n_queries if n_queries else np.full(len(sums), np.nan)
    return LayerChange(values.astype(np.float32), n_queries)


def _layer(trace: Trace, layer: int) -> LayerTrace:
    trace.attention(layer, rows=slice(0, 0))  # says so if there is no such layer
    return trace.layers[layer]


def _sizes(ran: LayerTrace) -> tuple[int, int, int]:
    return ran.n_heads, ran.q.shape[1], ran.k.shape[1]


def _said(ran: LayerTrace) -> str:
    n_heads, n_queries, n_keys = _sizes(ran)
    return f"{n_heads} heads of {n_queries:,} queries × {n_keys:,} keys"


def _sum(
    before: LayerTrace, after: LayerTrace, head: int, real: Bool[np.ndarray, " query"]
) -> float:
    """Total variation distances of one head, summed over the real queries."""
    total = 0.0
    for rows in _blocks(after):
        old, new = (_weights(ran, head, rows) for ran in (before, after))
        apart = (new - old.to(new.device)).abs_().sum(dim=1).double().cpu().numpy()
        total += float(apart[real[rows]].sum()) / 2
    return total


def _weights(ran: LayerTrace, head: int, rows: slice) -> Float[Tensor, "query key"]:
    with torch.no_grad():
        return ran.weights(slice(head, head + 1), rows)[0].float()


def _blocks(ran: LayerTrace) -> Iterator[slice]:
    """All rows in order, some at a time."""
    _, n_queries, n_keys = _sizes(ran)
    budget = BLOCK_BYTES if ran.q.device.type == "cpu" else BLOCK_BYTES_GPU
    step = max(1, budget // (4 * n_keys))
    for start in range(0, n_queries, step):
        yield slice(start, min(start + step, n_queries))


ANALYSES = (layer_change,)
