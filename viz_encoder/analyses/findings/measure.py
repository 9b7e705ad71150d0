"""Measure: every head of a run in a few numbers, shares of its weight and its best links.

All come from blocks of its rows; no map is ever held whole.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from math import log1p

import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.analyses.findings.reading import RunTokens, is_function_word
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.query_sums import QuerySums, SummedQueries
from viz_encoder.trace.row_measures import head_distances, some_queries
from viz_encoder.trace.row_walk import RowWalk, head_walks

NEAR = 4  # tokens: at these distances many heads look at a place, whatever stands there
FAR = 10  # tokens from which on a link is as telling as one that reaches further
TINY = torch.finfo(torch.float32).tiny
N_COMPARED = 32  # queries, evenly over the text, on which heads are compared with each other


@dataclass(frozen=True, eq=False)
class Even:
    """Uniform attention under a layer's mask, of each head, or once for all of them."""

    sums: QuerySums
    share: Float[Tensor, "#head query"]  # weight on each allowed key
    n_queries: Float[Tensor, "#head key"]  # real queries that may attend to the key


@dataclass(frozen=True, eq=False)
class HeadLinks:
    """The most telling link of each query of one head, as `links_of` scores them."""

    score: Float[Tensor, " query"]
    key: Int[Tensor, " query"]
    weight: Float[Tensor, " query"]


@dataclass(frozen=True, eq=False)
class MeasuredHead:
    """Measures of one head: the weight that each key gets in all, and its links."""

    layer: int
    head: int
    to_key: Float[Tensor, " key"]
    links: HeadLinks


@dataclass(frozen=True, eq=False)
class MeasuredLayer:
    """The heads of one layer; `apart` is each one's mean Jensen–Shannon distance to the others."""

    heads: tuple[MeasuredHead, ...]
    sums: QuerySums
    even: QuerySums  # of uniform attention
    apart: Float[Tensor, " head"]
    own_keys: bool  # the keys are the queries' own tokens
    key_names: tuple[str, ...]  # "" where they are not known


def measure(trace: Trace, number: int, reading: RunTokens, span: int) -> MeasuredLayer:
    """Measure one layer, its bands up to `span` tokens away."""
    layer, found = trace.layers[number], list[HeadLinks]()
    n_keys, device = layer.k.shape[1], layer.q.device
    own = not layer.cross and n_keys == trace.n_tokens
    names = reading.names if own else trace.key_tokens
    known = len(names) == n_keys
    reach = _reach(reading, device) if own else _reach_across(reading, names, n_keys, device)
    even = even_of(layer, reading, span if own else None)
    summed = summed_of(layer, reading, span if own else None)
    for walk in head_walks(layer, span if own else 0):
        summed.add_all(walk)
        ours = walk.heads if len(even.share) > 1 else slice(0, 1)
        ordinary = summed.by_key[walk.heads, 0] / even.n_queries[ours].clamp_min(1)
        found += links_of(walk, ordinary, _near(summed, walk.heads), even.share[ours], reach)
    sums = summed.sums()
    numbers = range(layer.n_heads)
    heads = map(MeasuredHead, repeat(number), numbers, sums.by_key[:, 0].cpu(), found)
    return MeasuredLayer(
        *(tuple(heads), sums, even.sums, _apart(layer, reading)),
        *(own, names if known else ("",) * n_keys),
    )


def _near(summed: SummedQueries, heads: slice) -> dict[int, tuple[Float[Tensor, " head"], int]]:
    """What some heads give to the token at each small offset, and of how many queries."""
    if summed.span is None:
        return {}
    n_pairs, span = summed.pairs[0].sum(dim=0).tolist(), summed.span
    return {
        offset: (summed.bands[heads, offset + span], int(n_pairs[offset + span]))
        for offset in range(-min(NEAR, span), min(NEAR, span) + 1)
    }


def even_attention(layer: LayerTrace) -> LayerTrace:
    """A layer with the same mask, whose heads look evenly at all keys they may attend to."""
    n_heads = 1 if layer.mask is None else len(layer.mask)
    q, k = (x.new_zeros(n_heads, x.shape[1], 1, dtype=torch.float32) for x in (layer.q, layer.k))
    return LayerTrace(q, k, k, 1.0, mask=layer.mask, cross=layer.cross)


def summed_of(layer: LayerTrace, reading: RunTokens, span: int | None) -> SummedQueries:
    """To add up the rows of a layer."""
    tokens = reading.kinds.on(layer.q.device)
    return SummedQueries(tokens, layer.n_heads, layer.k.shape[1], span)


def even_of(layer: LayerTrace, reading: RunTokens, span: int | None) -> Even:
    """Even attention under a layer's mask, in the same sums as its real attention."""
    even, real = even_attention(layer), reading.kinds.real.to(layer.q.device)
    summed = summed_of(even, reading, span)
    share = real.new_zeros(even.q.shape[:2])
    n_queries = torch.zeros_like(summed.by_key[:, 0])
    for walk in head_walks(even, span or 0):
        for rows, weights in walk.blocks():
            summed.add(walk, rows, weights)
            share[walk.heads, rows] = weights.amax(dim=2)
            n_queries[walk.heads] += real[0, rows] @ (weights > 0).float()
    return Even(summed.sums(), share, n_queries)


def links_of(
    walk: RowWalk,
    ordinary: Float[Tensor, "head key"],
    near: dict[int, tuple[Float[Tensor, " head"], int]],
    share: Float[Tensor, "#head query"],
    reach: Callable[[slice], Float[Tensor, "query key"]],
) -> list[HeadLinks]:
    """For each query, the key with the best score: weight · ln(weight / expected weight) ·
    reach.

    Args:
        walk: the heads.
        ordinary: what each key gets on average of the queries that may attend to it.
        near: what the heads give to the token at each small offset, summed over so many queries;
            a link is compared with the others of its offset.
        share: what each query would give evenly to each of the keys it may attend to.
        reach: how telling a link between two places is, 0 for what is no link.
    """
    parts = []
    for rows, weights in walk.blocks():
        weights = weights.float()
        base = torch.maximum(ordinary[:, None], share[:, rows, None])
        for offset, (totals, count) in near.items():
            shift = rows.start + offset
            band = base.diagonal(shift, dim1=1, dim2=2)
            own = weights.diagonal(shift, dim1=1, dim2=2)
            others = (totals[:, None] - own) / max(count - 1, 1)
            band.copy_(torch.maximum(band, others))
        score = (weights.clamp_min(TINY) / base.clamp_min(TINY)).log_() * weights * reach(rows)
        best = score.max(dim=2)
        given = weights.gather(2, best.indices[..., None])[..., 0]
        parts.append((best.values, best.indices, given))
    columns = (torch.cat(column, dim=1).cpu() for column in zip(*parts, strict=True))
    return list(map(HeadLinks, *columns))


def _reach(
    reading: RunTokens, device: torch.device
) -> Callable[[slice], Float[Tensor, "query key"]]:
    """ln(1 + distance), up to FAR, between two words that do not stand side by side; else 0."""
    telling, word = reading.telling.to(device), reading.word.to(device)
    places = torch.arange(len(telling), device=device)

    @lru_cache(maxsize=1)  # one block at a time: a text of one block is asked for it by every head
    def reach(start: int, stop: int) -> Float[Tensor, "query key"]:
        rows = slice(start, stop)
        distance = (places[rows, None] - places).abs()
        linked = telling[rows, None] & telling & (word[rows, None] != word)
        return linked * distance.clamp_max(FAR).float().log1p_()

    return lambda rows: reach(rows.start, rows.stop)


def _reach_across(
    reading: RunTokens, names: tuple[str, ...], n_keys: int, device: torch.device
) -> Callable[[slice], Float[Tensor, "query key"]]:
    """Between two sequences, where there is no distance: all words alike; 0 without any names."""
    telling = reading.telling.to(device)
    known = len(names) == n_keys
    keys = torch.zeros(n_keys, dtype=torch.bool, device=device)
    if known:
        keys |= torch.tensor(
            [any(c.isalnum() for c in name) and not is_function_word(name) for name in names],
            device=device,
        )
    return lambda rows: (telling[rows, None] & keys).float() * log1p(NEAR)


def _apart(layer: LayerTrace, reading: RunTokens) -> Float[Tensor, " head"]:
    rows = some_queries(reading.real, N_COMPARED).to(layer.q.device)
    heads = (slice(head, head + 1) for head in range(layer.n_heads))
    maps = torch.cat([layer.weights(head, rows).float() for head in heads])
    return head_distances(maps).float().sum(dim=0) / max(len(maps) - 1, 1)
