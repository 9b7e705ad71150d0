"""Measure: every head of a run in a few numbers, shares of its weight and its best links."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from math import log1p

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.analyses.findings.reading import RunTokens, is_function_word
from viz_encoder.analyses.findings.role_shares import n_with
from viz_encoder.analyses.findings.sweep import (
    FAR,
    NEAR,
    Even,
    HeadLinks,
    QuerySums,
    even_of,
    links_of,
    span_of,
    sums_of,
)
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.row_measures import entropies, js_distances, shares
from viz_encoder.trace.row_walk import head_walks

N_COMPARED = 32  # queries, evenly over the text, on which heads are compared with each other


@dataclass(frozen=True, eq=False)
class MeasuredHead:
    """Measures of one head: its sums, those of uniform attention, and its links."""

    layer: int
    head: int
    sums: QuerySums
    even: Even
    links: HeadLinks


@dataclass(frozen=True, eq=False)
class MeasuredLayer:
    """The heads of one layer; `apart` is each one's mean Jensen–Shannon distance to the others."""

    heads: tuple[MeasuredHead, ...]
    apart: Float[Tensor, " head"]
    own_keys: bool  # the keys are the queries' own tokens
    key_names: tuple[str, ...]  # "" where they are not known


def measure(
    trace: Trace, number: int, reading: RunTokens, offsets: tuple[int, ...]
) -> MeasuredLayer:
    """Measure one layer, head by head."""
    layer, heads = trace.layers[number], list[MeasuredHead]()
    n_keys, device = layer.k.shape[1], layer.q.device
    own = not layer.cross and n_keys == trace.n_tokens
    names = reading.names if own else trace.key_tokens
    offsets = offsets if own else ()
    known = len(names) == n_keys
    reach = _reach(reading, device) if own else _reach_across(reading, names, n_keys, device)
    even = even_of(layer, reading, offsets)
    even *= layer.n_heads // len(even)
    for walk in head_walks(layer, span_of(offsets)):
        ours, sums = even[walk.heads], sums_of(walk, reading, offsets)
        near = {
            offset: (
                torch.tensor([each.at_offset[offset] for each in sums], device=device),
                n_with(reading, offset),
            )
            for offset in offsets
            if abs(offset) <= NEAR
        }
        ordinary = torch.stack(
            [
                real.to_key / each.n_queries.clamp_min(1)
                for real, each in zip(sums, ours, strict=True)
            ]
        )
        share = torch.stack([each.share for each in ours])
        found = links_of(walk, ordinary, near, share, reach)
        numbers = range(walk.heads.start, walk.heads.stop)
        heads += map(MeasuredHead, repeat(number), numbers, sums, ours, found)
    return MeasuredLayer(
        *(tuple(heads), _apart(layer, reading)),
        *(own, names if known else ("",) * n_keys),
    )


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
    real = reading.real.nonzero().flatten()
    at = real[torch.linspace(0, len(real) - 1, min(len(real), N_COMPARED)).long()]
    rows = at.unique().to(layer.q.device)
    maps = torch.stack(
        [layer.weights(slice(head, head + 1), rows)[0].float() for head in range(layer.n_heads)]
    )
    maps, apart = shares(maps), torch.zeros(len(maps), device=maps.device)
    own = entropies(maps)
    for head in range(len(maps)):
        distances = js_distances((maps[head], own[head]), (maps, own))
        apart[head] = distances.mean(dim=-1).sum() / max(len(maps) - 1, 1)
    return apart.cpu()
