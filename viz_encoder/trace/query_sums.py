"""Query sums: what every statistic of a head is made of, added up over blocks of its rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.trace.row_walk import RowWalk
from viz_encoder.trace.token_kinds import KEY_KINDS, TokenKinds

Amount = tuple[Tensor, Tensor]  # a total of each head, and over how many queries


class HeadBlock(NamedTuple):
    """Some rows of some heads."""

    weights: Float[Tensor, "head query key"]
    entropy: Float[Tensor, "head query"]
    largest: Float[Tensor, "head query"]


@dataclass(frozen=True, eq=False)
class QuerySums:
    """Sums over the real queries of each head; None where they cannot be, or were not asked."""

    real: Float[Tensor, "#head query"]
    by_key: Float[Tensor, "head sum key"]  # from all queries; from words of text A, of text B
    kinds: Mapping[str, Bool[Tensor, "#head key"]]
    bands: Float[Tensor, "head band"] | None = None  # at each offset −span … span
    n_pairs: Float[Tensor, "#head band"] | None = None  # queries with a token there
    sides: Float[Tensor, "#head 2 key"] | None = None  # words of text A, of text B
    distance: Float[Tensor, " head"] | None = None  # weight times tokens
    by_query: Mapping[str, Float[Tensor, "head query"]] = field(default_factory=dict)

    @cached_property
    def n_real(self) -> Float[Tensor, "#head"]:
        """How many queries."""
        return self.real.sum(dim=1)

    @cached_property
    def none(self) -> Amount:
        """Nothing, of no query."""
        return torch.zeros_like(self.by_key[:, 0, 0]), torch.zeros_like(self.n_real)

    def apart(self) -> Amount:
        """How far from the query the weight is."""
        return self.none if self.distance is None else (self.distance, self.n_real)

    def on(self, kind: str) -> Amount:
        """Weight on the keys of a kind; NaN, not 0, where a head's weights are NaN."""
        if kind not in self.kinds:
            return self.none
        return (self.by_key[:, 0] * self.kinds[kind]).sum(dim=-1), self.n_real

    @cached_property
    def _by_offset(self) -> list[Amount]:
        if self.bands is None or self.n_pairs is None:
            return []
        return list(zip(self.bands.unbind(dim=1), self.n_pairs.unbind(dim=1), strict=True))

    def at(self, offset: int) -> Amount:
        """Weight on the token so many places on, of the queries that have one."""
        at = offset + len(self._by_offset) // 2
        return self._by_offset[at] if 0 <= at < len(self._by_offset) else self.none

    def between(self, *looking: int) -> Amount:
        """Weight from words of these texts to words of the other; of none unless both have some."""
        if self.sides is None or self.by_key.shape[1] < 3:
            return self.none
        n_words = self.sides.sum(dim=-1)
        n_words = n_words * (n_words > 0).all(dim=-1, keepdim=True)
        given = (self.by_key[:, 1:] * self.sides.flip(1)).sum(dim=-1)
        return given[:, looking].sum(dim=-1), n_words[:, looking].sum(dim=-1)


class SummedQueries:
    """Adds up the rows of a layer, whose heads may be those of several texts."""

    def __init__(self, tokens: TokenKinds, n_heads: int, n_keys: int, span: int | None) -> None:
        """span: how far bands reach; None where the keys are not the queries' own tokens."""
        self.span, self.n_each = span, n_heads // len(tokens.real)
        self.tokens, self.pairs = tokens.by_head(self.n_each, span or 0)
        zeros = tokens.real.new_zeros
        self.by_key = zeros(n_heads, self.tokens.queries.shape[1], n_keys)
        self.bands = zeros(n_heads, self.pairs.shape[2])

    def add(self, walk: RowWalk, rows: slice, weights: Float[Tensor, "head query key"]) -> None:
        """Some heads' rows, as the walk gave them last."""
        heads = walk.heads
        self.by_key[heads] += self.tokens.queries[heads, :, rows] @ weights.float()
        if self.span is not None:
            self.bands[heads] += walk.band_sums(rows, self.pairs[heads, rows]).float()

    def add_all(self, walk: RowWalk) -> None:
        """All rows of some heads."""
        for rows, weights in walk.blocks():
            self.add(walk, rows, weights)

    def sums(self) -> QuerySums:
        """Of all heads, over the blocks added so far."""
        tokens = self.tokens
        if self.span is None:
            return QuerySums(tokens.real, self.by_key, {})
        kinds = dict(zip(KEY_KINDS, tokens.kinds.unbind(dim=2), strict=True))
        more = self.bands, self.pairs.sum(dim=1), tokens.sides
        return QuerySums(tokens.real, self.by_key, kinds, *more)
