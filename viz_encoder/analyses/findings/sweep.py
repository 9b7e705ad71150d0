"""Sweep: what findings need of every head, from blocks of its rows; no map is ever held whole."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.analyses.findings.reading import RunTokens
from viz_encoder.trace import LayerTrace
from viz_encoder.trace.row_walk import RowWalk, head_walks, pairs_at

NEAR = 4  # tokens: at these distances many heads look at a place, whatever stands there
FAR = 10  # tokens from which on a link is as telling as one that reaches further
TINY = torch.finfo(torch.float32).tiny


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


def even_attention(layer: LayerTrace) -> LayerTrace:
    """A layer with the same mask, whose heads look evenly at all keys they may attend to."""
    n_heads = 1 if layer.mask is None else len(layer.mask)
    q, k = (x.new_zeros(n_heads, x.shape[1], 1, dtype=torch.float32) for x in (layer.q, layer.k))
    return LayerTrace(q, k, k, 1.0, mask=layer.mask, cross=layer.cross)


def span_of(offsets: tuple[int, ...]) -> int:
    """The farthest of the offsets."""
    return max(map(abs, offsets), default=0)


def sums_of(walk: RowWalk, reading: RunTokens, offsets: tuple[int, ...]) -> list[QuerySums]:
    """Sums of each head; between and at_offset only where the keys are the queries' own tokens."""
    n_heads, n_keys = walk.heads.stop - walk.heads.start, walk.layer.k.shape[1]
    device, own = walk.layer.q.device, n_keys == len(reading.names) and bool(offsets)
    real = reading.real.to(device, torch.float32)
    words = reading.content.to(device)
    sides = torch.stack([words & (reading.segment.to(device) == side) for side in (0, 1)]).float()
    asked = torch.cat([real[None], sides]).expand(n_heads, -1, -1)
    both = pairs_at(real[None], walk.span)
    totals = torch.zeros(n_heads, 3, n_keys, device=device)
    bands = torch.zeros(n_heads, 2 * walk.span + 1, device=device)
    for rows, weights in walk.blocks():
        totals += torch.bmm(asked[..., rows], weights.float())
        if own:
            bands += walk.band_sums(rows, both[:, rows]).float()
    between = totals.new_zeros(n_heads, 2)
    if own:
        between = torch.stack([totals[:, 1] @ sides[1], totals[:, 2] @ sides[0]], dim=1)
    at = bands[:, [offset + walk.span for offset in offsets]]
    numbers = zip(totals[:, 0], between.tolist(), at.tolist(), strict=True)
    return [
        QuerySums(to_key, (across[0], across[1]), dict(zip(offsets, found, strict=True)))
        for to_key, across, found in numbers
    ]


def even_of(layer: LayerTrace, reading: RunTokens, offsets: tuple[int, ...]) -> list[Even]:
    """Even attention under a layer's mask, by head, in the same sums as its real attention."""
    real = reading.real.to(layer.q.device, torch.float32)
    found = list[Even]()
    for walk in head_walks(even_attention(layer), span_of(offsets)):
        share = torch.cat([rows.amax(dim=2) for _, rows in walk.blocks()], dim=1)
        n_queries = torch.stack([real[at] @ (rows > 0).float() for at, rows in walk.blocks()])
        found += map(Even, sums_of(walk, reading, offsets), share, n_queries.sum(dim=0))
    return found


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
