"""Measures of the rows of maps: their entropy, how far apart two heads' are, and two runs'.

Two heads are compared by the Jensen–Shannon distance of rows normalized to sum to 1 over the keys:
√JSD with logarithms of base 2: 0 = the same rows, 1 = no key in common. The divergence is from Lin,
1991, "Divergence measures based on the Shannon entropy"; Endres & Schindelin, 2003, "A new metric
for probability distributions", show that its root is a metric.
"""

from collections.abc import Iterator
from math import log

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viz_encoder.trace.head_rows import row_blocks
from viz_encoder.trace.layer import LayerTrace


def row_entropy(
    weights: Float[Tensor, "*rows key"],
    scores: Float[Tensor, "*rows key"],
    sums: Float[Tensor, "*rows"],
    largest: Float[Tensor, "*rows"],
) -> Float[Tensor, "*rows"]:
    """−Σ_j w_ij ln w_ij, in nats; 0 for a row of zeros.

    With s the scores minus their row's largest, ln w_ij = s_ij + ln max_j w_ij. Subtracting the
    largest avoids cancellation for scores of 1,000 and more.

    Args:
        weights: the softmax of the scores.
        scores: finite; overwritten.
        sums: sum of each row's weights.
        largest: largest of each row's weights.
    """
    scores.sub_(scores.amax(dim=-1, keepdim=True))
    entropy = -largest.log() * sums - scores.mul_(weights).sum(dim=-1)
    return entropy.masked_fill_(largest == 0, 0.0)


SMALLEST = torch.finfo(torch.float32).tiny
OneHead = tuple[Float[Tensor, "query key"], Float[Tensor, " query"]]
RowsAndEntropies = tuple[
    Float[Tensor, "*head query key"], Float[Tensor, "*head query"]
]  # with their entropies


def shares(weights: Float[Tensor, "*head query key"]) -> Float[Tensor, "*head query key"]:
    """Normalize rows to sum to 1, without any sink; rows of zeros stay zero."""
    return weights / weights.sum(dim=-1, keepdim=True).clamp_min(SMALLEST)


def entropies(rows: Float[Tensor, "*head query key"]) -> Float[Tensor, "*head query"]:
    """Entropy of each row, in nats."""
    return torch.special.entr(rows).sum(dim=-1)


def js_distances(one: OneHead, others: RowsAndEntropies) -> Float[Tensor, "*head query"]:
    """√JSD between each row of one head and that of the others; 0 for two rows of zeros."""
    middle = entropies((one[0] + others[0]) / 2)
    bits = (middle - (one[1] + others[1]) / 2).clamp_min(0) / log(2)
    return bits.sqrt()


def head_distances(
    maps: Float[Tensor, "head query key"],
) -> Float[Tensor, "head head"]:
    """The mean over the queries of √JSD between the rows of every two heads, in float64.

    On the CPU, for there are devices without float64.
    """
    placed = shares(maps)
    every = placed, entropies(placed)
    found = (js_distances(one, every).cpu() for one in zip(*every, strict=True))
    return torch.stack([each.double().mean(dim=-1) for each in found])


def some_queries(real: Bool[Tensor, " token"], most: int | None) -> Int[Tensor, " query"]:
    """The real queries, or so many of them, evenly over the text."""
    found = real.cpu().nonzero().flatten()
    if most is None or len(found) <= most:
        return found
    return found[torch.linspace(0, len(found) - 1, most).long()].unique()


TokenIndices = Int[Tensor, " token"]


def row_distances(
    before: LayerTrace, after: LayerTrace, aligned: tuple[TokenIndices, TokenIndices] | None = None
) -> Float[np.ndarray, "head query"]:
    """½ Σ |a − b| of each query's two rows, for every head.

    Over all keys this is the total variation distance: the share of a query's weight that lies on
    other keys. A key that the mask forbids has weight 0.

    Args:
        before: a layer of the reference.
        after: the same layer of the current run, with as many heads.
        aligned: increasing positions in the reference and their matches in the run; only these
            queries and keys count. By default all count, by position.
    """
    n_queries = after.q.shape[1] if aligned is None else len(aligned[1])
    found = np.zeros((after.n_heads, n_queries))
    for head in range(after.n_heads):
        for block in _blocks(after, before, n_queries):
            old = _weights(before, head, block, aligned and aligned[0])
            new = _weights(after, head, block, aligned and aligned[1])
            apart = (new - old.to(new.device)).abs_().sum(dim=1)
            found[head, block] = apart.cpu().double().numpy() / 2
    return found


def _weights(
    ran: LayerTrace, head: int, block: slice, kept: TokenIndices | None
) -> Float[Tensor, "query key"]:
    """Some rows of a map over the kept keys; rows are indexed among the kept queries."""
    every = kept is None or len(kept) == ran.k.shape[1] == ran.q.shape[1]
    with torch.no_grad():
        if every or kept is None:
            return ran.weights(slice(head, head + 1), block)[0].float()
        places = kept.to(ran.q.device)
        return ran.weights(slice(head, head + 1), places[block])[0].float()[:, places]


def _blocks(after: LayerTrace, before: LayerTrace, n: int) -> Iterator[slice]:
    return row_blocks(n, max(after.k.shape[1], before.k.shape[1]), after.q.device)
