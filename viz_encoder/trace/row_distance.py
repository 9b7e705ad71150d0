"""Row distance: how far each query's row moved between two runs, one head's block at a time."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.trace.head_rows import row_blocks
from viz_encoder.trace.layer import LayerTrace

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
            found[head, block] = apart.double().cpu().numpy() / 2
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
    """Iterate over the counted queries in blocks, in order."""
    return row_blocks(n, max(after.k.shape[1], before.k.shape[1]), after.q.device)
