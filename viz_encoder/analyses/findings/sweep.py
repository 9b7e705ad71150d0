"""Sweep: what findings need of every head, from blocks of its rows; no map is ever held whole."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.analyses.findings.reading import RunTokens
from viz_encoder.trace import LayerTrace
from viz_encoder.trace.head_rows import row_blocks, rows_at_once

NEAR = 4  # tokens: at these distances many heads look at a place, whatever stands there
FAR = 10  # tokens from which on a link is as telling as one that reaches further
TINY = torch.finfo(torch.float32).tiny
WeightRows = tuple[slice, Float[Tensor, "query key"]]


@dataclass(frozen=True, eq=False)
class QuerySums:
    """Sums over the real queries, of one head or of uniform attention under its mask."""

    to_key: Float[Tensor, " key"]  # all weight that each key gets
    between: tuple[float, float]  # from words of the first text to the second's, and back
    at_offset: dict[int, float]  # to the real token so many places on


@dataclass(frozen=True, eq=False)
class Even:
    """Uniform attention under a head's mask."""

    sums: QuerySums
    share: Float[Tensor, " query"]  # weight on each allowed key
    n_queries: Float[Tensor, " key"]  # real queries that may attend to the key


@dataclass(frozen=True, eq=False)
class HeadLinks:
    """The most telling link of each query of one head, as `links_of` scores them."""

    score: Float[Tensor, " query"]
    key: Int[Tensor, " query"]
    weight: Float[Tensor, " query"]


def blocks(layer: LayerTrace, head: int) -> Callable[[], Iterator[WeightRows]]:
    """Factory of iterators over one head's rows; a map of one block is computed once."""
    n_queries, n_keys = layer.q.shape[1], layer.k.shape[1]

    def walk() -> Iterator[WeightRows]:
        for rows in row_blocks(n_queries, n_keys, layer.q.device):
            yield rows, layer.weights(slice(head, head + 1), rows)[0].float()

    if rows_at_once(n_keys, layer.q.device) < n_queries:
        return walk
    kept = list(walk())
    return lambda: iter(kept)


def even_blocks(layer: LayerTrace, head: int) -> Callable[[], Iterator[WeightRows]]:
    """The same blocks with every row uniform over the keys it may attend to."""
    n_queries, n_keys = layer.q.shape[1], layer.k.shape[1]

    def walk() -> Iterator[WeightRows]:
        for rows in row_blocks(n_queries, n_keys, layer.q.device):
            allowed = torch.ones(rows.stop - rows.start, n_keys, device=layer.q.device)
            if layer.mask is not None:
                mask = layer.mask[head if layer.mask.shape[0] > 1 else 0]
                allowed = allowed * (mask[rows] if mask.shape[0] > 1 else mask)
            yield rows, allowed / allowed.sum(dim=1, keepdim=True).clamp_min(1)

    return walk


def sums_of(
    walk: Callable[[], Iterator[WeightRows]],
    reading: RunTokens,
    offsets: tuple[int, ...],
    n_keys: int,
) -> QuerySums:
    """Sums of one head; between and at_offset only where the keys are the queries' own tokens."""
    first = next(walk())[1]
    device, own = first.device, n_keys == len(reading.names) and bool(offsets)
    real = reading.real.to(device, torch.float32)
    words = reading.content.to(device)
    sides = torch.stack([words & (reading.segment.to(device) == side) for side in (0, 1)]).float()
    totals = torch.zeros(3, n_keys, device=device)
    found = torch.zeros(len(offsets), device=device)
    for rows, weights in walk():
        totals += torch.cat([real[None, rows], sides[:, rows]]) @ weights
        if own:
            found += _bands(weights, rows.start, offsets, real)
    between = (float(totals[1] @ sides[1]), float(totals[2] @ sides[0])) if own else (0.0, 0.0)
    return QuerySums(totals[0], between, dict(zip(offsets, found.tolist(), strict=True)))


def _bands(
    weights: Float[Tensor, "query key"],
    start: int,
    offsets: tuple[int, ...],
    real: Float[Tensor, " token"],
) -> Float[Tensor, " offset"]:
    """The weight on the token at each offset, summed over these queries; padding never counts."""
    found = []
    for offset in offsets:
        band = weights.diagonal(start + offset)
        query = max(start, -offset)
        both = real[query : query + len(band)] * real[query + offset : query + offset + len(band)]
        found.append(torch.dot(band, both))
    return torch.stack(found)


def even_of(layer: LayerTrace, head: int, reading: RunTokens, offsets: tuple[int, ...]) -> Even:
    """Even attention under a head's mask, in the same sums as its real attention."""
    walk = even_blocks(layer, head)
    real = reading.real.to(layer.q.device, torch.float32)
    share = torch.cat([rows.amax(dim=1) for _, rows in walk()])
    n_queries = torch.stack([real[at] @ (rows > 0).float() for at, rows in walk()]).sum(dim=0)
    return Even(sums_of(walk, reading, offsets, layer.k.shape[1]), share, n_queries)


def links_of(
    walk: Callable[[], Iterator[WeightRows]],
    ordinary: Float[Tensor, " key"],
    near: dict[int, tuple[float, int]],
    share: Float[Tensor, " query"],
    reach: Callable[[slice], Float[Tensor, "query key"]],
) -> HeadLinks:
    """For each query, the key with the best score: weight · ln(weight / expected weight) ·
    reach.

    Args:
        walk: the head's rows.
        ordinary: what each key gets on average of the queries that may attend to it.
        near: what the head gives to the token at each small offset, summed over so many queries;
            a link is compared with the others of its offset.
        share: what each query would give evenly to each of the keys it may attend to.
        reach: how telling a link between two places is, 0 for what is no link.
    """
    parts = []
    for rows, weights in walk():
        base = torch.maximum(ordinary[None], share[rows, None])
        for offset, (total, count) in near.items():
            band = base.diagonal(rows.start + offset)
            others = (total - weights.diagonal(rows.start + offset)) / max(count - 1, 1)
            band.copy_(torch.maximum(band, others))
        score = (weights.clamp_min(TINY) / base.clamp_min(TINY)).log_() * weights * reach(rows)
        best = score.max(dim=1)
        parts.append((best.values, best.indices, weights.gather(1, best.indices[:, None])[:, 0]))
    return HeadLinks(*(torch.cat(column).cpu() for column in zip(*parts, strict=True)))
