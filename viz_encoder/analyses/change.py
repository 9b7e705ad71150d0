"""Change: how far each head's map moved between two runs of the same length."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from viz_encoder.arguments import public
from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.row_measures import row_distances


@dataclass(frozen=True, eq=False, repr=False)
class LayerChange(ArrayResult, main="heads"):
    """Distance of one layer's maps from the reference's, per head, 0 … 1.

    heads[h] is the mean over the queries counted of the total variation distance between the two
    rows, ½ Σ |a − b|: the share of a query's weight that lies on other keys. 0 = the same map,
    1 = no key in common; a row of zeros, of a query that may attend to nothing, is ½ away from any
    other. Rows and keys are compared by position, whatever tokens stand there; `compare` aligns
    them. NaN where no query is counted.
    """

    heads: Float[np.ndarray, " head"]
    n_queries: int  # counted: those that are real, not padding, in both runs


@public
def layer_change(trace: Trace, reference: Trace, layer: int) -> LayerChange:
    """The change of every head of a layer against another run; a block of one head is held at once.

    It says that two maps differ, not why, nor whether the model's answer would.

    Args:
        trace: the run that is looked at.
        reference: the run to compare with.
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
    n_queries = int(real.sum())
    if not n_queries:
        return LayerChange(np.full(after.n_heads, np.nan, np.float32), n_queries)
    values = row_distances(before, after)[:, real].mean(axis=1)
    return LayerChange(values.astype(np.float32), n_queries)


def _layer(trace: Trace, layer: int) -> LayerTrace:
    trace.attention(layer, rows=slice(0, 0))  # says so if there is no such layer
    return trace.layers[layer]


def _sizes(ran: LayerTrace) -> tuple[int, int, int]:
    return ran.n_heads, ran.q.shape[1], ran.k.shape[1]


def _said(ran: LayerTrace) -> str:
    n_heads, n_queries, n_keys = _sizes(ran)
    return f"{n_heads} heads of {n_queries:,} queries × {n_keys:,} keys"
