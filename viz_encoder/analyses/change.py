"""Change between two runs: of each head's map, and of states and vectors under a mask."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import public
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.model import pool
from viz_encoder.result import ArrayResult
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.recomputed import allowed, apart
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


METHODS = ("cls", "mean", "max")


@dataclass(frozen=True, eq=False, repr=False)
class MaskEffect(ArrayResult, main="moved"):
    """Two runs of one input, with a mask and without.

    moved[l, t] is ‖h − h′‖ / ‖h′‖ of token t after l blocks (0 = embeddings), h′ being the run
    without; NaN for padding. pooled holds, for each method, the cosine of the two pooled outputs
    and the relative length of their difference.
    """

    moved: Float[np.ndarray, "state token"]
    pooled: dict[str, tuple[float, float]]


@public
def mask_effect(masked: Trace, plain: Trace) -> MaskEffect:
    """Measure how far each token's hidden state and each pooled output moved.

    What no mask changes must be equal in both: the embeddings, and what the first layer makes of
    them. So other weights are seen there; a model that differs in later layers alone is not.

    Raises:
        InputError: the runs are from different models, weights or inputs.
    """
    if masked.tokens != plain.tokens or masked.n_layers != plain.n_layers:
        raise InputError(
            f"The runs have {masked.n_tokens} and {plain.n_tokens} tokens, {masked.n_layers} "
            f"and {plain.n_layers} layers; compare two runs of the same input on the same "
            "model."
        )
    if not _begin_alike(masked, plain):
        raise InputError(
            "The runs differ before any mask acts, in their embeddings or the first layer's "
            "queries, keys and values, so they are of different weights or positions; run the "
            "input twice on the same model."
        )
    states = range(masked.n_layers + 1)
    moved = np.stack([_moved(masked.hidden(at), plain.hidden(at)) for at in states])
    moved[:, ~plain.valid.cpu().numpy()] = np.nan
    pooled = {method: _compared(masked, plain, method) for method in METHODS}
    return MaskEffect(moved, pooled)


def _begin_alike(masked: Trace, plain: Trace) -> bool:
    """Whether embeddings, queries, keys and values of the first layer are equal, but for rounding.

    Values are compared at real tokens; NaN in both is equal.
    """
    real, one, other = plain.valid.cpu(), masked.layers[0], plain.layers[0]
    pairs = [(one.q, other.q), (one.k, other.k), (one.v, other.v)]
    pairs.append((masked.hidden(0)[None], plain.hidden(0)[None]))
    return all(
        a.shape == b.shape
        and apart(a.cpu()[:, real], b.cpu()[:, real]) <= allowed(masked.output.dtype)
        for a, b in pairs
    )


def _moved(
    masked: Float[Tensor, "token d_model"], plain: Float[Tensor, "token d_model"]
) -> Float[np.ndarray, " token"]:
    masked, plain = masked.float().cpu(), plain.float().cpu()
    length = plain.norm(dim=-1).clamp_min(1e-30)
    return ((masked - plain).norm(dim=-1) / length).numpy()


def _compared(masked: Trace, plain: Trace, method: str) -> tuple[float, float]:
    """Cosine, and length of the difference as a share of the unmasked vector's."""
    ours, theirs = (
        pool(trace.output.float().cpu(), trace.valid.cpu(), method) for trace in (masked, plain)
    )
    cosine = ours @ theirs / (ours.norm() * theirs.norm()).clamp_min(1e-30)
    return float(cosine), float((ours - theirs).norm() / theirs.norm().clamp_min(1e-30))
