"""Similar heads: how far every head's rows are from one head's."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.arguments import Count, Most, public, read_index
from viz_encoder.result import ArrayResult
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.head_rows import rows_at_once
from viz_encoder.trace.row_measures import entropies, js_distances, shares, some_queries


@dataclass(frozen=True, eq=False, repr=False)
class SimilarHeads(ArrayResult, main="distances", table={"distance": "distances"}):
    """Every head's distance to one head, 0 (the same rows) … 1 (no key in common).

    distances: NaN where a layer has no such head, or looks at other keys (cross-attention).
    n_queries: how many queries each is a mean over.
    """

    distances: Float[np.ndarray, "layer head"]
    layer: int
    head: int
    n_queries: int

    @public
    def nearest(self, n: Most = 5) -> tuple[tuple[int, int], ...]:
        """The n most similar heads as (layer, head), the nearest first, without the head itself."""
        order = np.argsort(self.distances, axis=None, kind="stable")  # NaN comes last
        known = order[: int(np.isfinite(self.distances).sum())]
        layers, heads = np.unravel_index(known, self.distances.shape)
        places = zip(layers.tolist(), heads.tolist(), strict=True)
        others = [place for place in places if place != (self.layer, self.head)]
        return tuple(others[:n])


@public
def similar_heads(
    trace: Trace, layer: int, head: int, *, most_queries: Count | None = None
) -> SimilarHeads:
    """Find heads that attend like a given one: mean Jensen–Shannon distance of their rows.

    √JSD with logarithms of base 2 (Lin, 1991; Endres & Schindelin, 2003), mean over the real
    queries; Clark et al. (2019, arXiv:1906.04341) compare heads by the divergence. A small distance
    means that two heads put their weight on the same keys in this run, not that they compute the
    same thing: their values differ. Maps are computed a block at a time, and none is held.

    Args:
        trace: the run.
        layer: the chosen head's layer, counted from 0.
        head: its number there.
        most_queries: use at most this many real queries, evenly spaced; all if not given.

    Raises:
        SelectionError: no such layer or head.
    """
    parts = list(similar_layers(trace, layer, head, most_queries=most_queries))
    n_queries = len(some_queries(trace.valid, most_queries))
    return SimilarHeads(np.concatenate(parts), layer, head, n_queries)


def similar_layers(
    trace: Trace, layer: int, head: int, *, most_queries: int | None = None
) -> Iterator[Float[np.ndarray, "1 head"]]:
    """The distances layer by layer, each as soon as it is known."""
    read_index("head", head, trace.layers[read_index("layer", layer, trace.n_layers)].n_heads)
    queries, chosen = some_queries(trace.valid, most_queries), trace.layers[layer]
    most = max(each.n_heads for each in trace.layers)
    for other in trace.layers:
        row = np.full((1, most), np.nan, dtype=np.float32)
        if other.cross == chosen.cross and other.k.shape[1] == chosen.k.shape[1]:
            row[0, : other.n_heads] = _distances(chosen, head, other, queries)
        yield row


def _distances(
    chosen: LayerTrace, head: int, other: LayerTrace, queries: Int[Tensor, " query"]
) -> Float[np.ndarray, " head"]:
    device = other.q.device
    sums = torch.zeros(other.n_heads, dtype=torch.float64)
    for block in queries.split(rows_at_once(other.k.shape[1], device)):
        one = _rows(chosen, head, block.to(chosen.q.device))
        placed = one.to(device), entropies(one).to(device)
        for each in range(other.n_heads):
            rows = _rows(other, each, block.to(device))
            sums[each] += js_distances(placed, (rows, entropies(rows))).cpu().double().sum()
    return (sums / max(1, len(queries))).float().numpy()


def _rows(
    layer: LayerTrace, head: int, queries: Int[Tensor, " query"]
) -> Float[Tensor, "query key"]:
    with torch.no_grad():
        return shares(layer.weights(slice(head, head + 1), queries)[0].float())
