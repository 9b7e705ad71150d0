"""Comparison: two runs with their tokens aligned, subtracted where one asks."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int

from viz_encoder.arguments import Count, Token, public
from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult, Columns, TableResult, long_columns
from viz_encoder.trace import Trace
from viz_encoder.trace.map_change import MapChange, SignedTile, signed_tile
from viz_encoder.trace.map_view import AS_IT_RAN, Head, MapView, heads_of
from viz_encoder.trace.row_measures import row_distances
from viz_encoder.trace.shown_map import ShownMap, Side, Unit, shown_row
from viz_encoder.trace.token_selection import place_of, query_of, shown_tokens


@dataclass(frozen=True, eq=False, repr=False)
class CellChange(
    ArrayResult, main="change", table={"now": "now", "was": "was", "change": "change"}
):
    """One query's weight on one key in every head, 0 … 1, here and in the reference.

    NaN where the mask forbids the key, and in `was` and `change` where the query or the key has
    no partner.
    """

    now: Float[np.ndarray, "layer head"]
    was: Float[np.ndarray, "layer head"]
    change: Float[np.ndarray, "layer head"]  # now − was


@dataclass(frozen=True)
class HeadChange:
    """A head, and how far it changed: now − was of a cell, or a distance of rows, 0 … 1."""

    layer: int
    head: int
    change: float


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(TableResult):
    """Two runs, their tokens aligned; every number is this run − the reference.

    Weights are shares of a query's total. Heads are compared by their number: those of one number
    in different models are unrelated.
    """

    trace: Trace
    reference: Trace
    aligned: tuple[tuple[int, int], ...]  # (place in this run, place in the reference), rising
    only_here: tuple[int, ...]  # real tokens of this run without a partner
    only_there: tuple[int, ...]  # real tokens of the reference without one
    by: str  # unit of alignment: "tokens", or "words" where the tokenizers differ
    why: str  # why heads cannot be compared one by one, a plain sentence; "" where they can

    @public
    def partner(self, token: Token) -> int | None:
        """The token of the reference that stands for this one; None where there is none.

        Raises:
            SelectionError: no such token.
        """
        return self._partners.get(query_of(self.trace, token, "token"))

    @public
    def map(self, layer: int, head: Head) -> Float[np.ndarray, "query key"]:
        """The change of every aligned pair, in the order of `aligned`; NaN where a mask forbids it.

        Args:
            layer: counted from 0.
            head: one head, "mean" or "max" over all, or several heads whose mean is taken; heads
                are fused before they are subtracted.

        Raises:
            SelectionError: heads that cannot be compared, or no such layer or head.
        """
        self._require_heads()
        changes, (here, _) = self._maps(layer, head), self._sides
        blocks = [block for _, block in changes.blocks(here, here)]
        return np.concatenate([np.zeros((0, len(self.aligned)), np.float32), *blocks])

    @public
    def tile(
        self,
        layer: int,
        head: Head,
        *,
        rows: slice = slice(None),
        keys: slice = slice(None),
        size: Count = 512,
        hide_special: bool = False,
        renormalize: bool = False,
        words: bool = False,
    ) -> SignedTile:
        """A part of the signed map over all that is shown of this run, at most `size` cells a side.

        Each run's map is made as `overview` makes it, then they are subtracted.

        Args:
            layer: counted from 0.
            head: as in `map`.
            rows: queries of this run, counted among the tokens shown.
            keys: keys of this run, likewise.
            size: more cells than that a side are pooled: the change of the largest amount, signed.
            hide_special: whether special tokens are left out of both runs.
            renormalize: divide each query's weights by their sum over the keys shown.
            words: whether the sub-words of a word are merged; a word has a partner if all its
                sub-words have partners in one word.

        Raises:
            SelectionError: as in `map`, or a part that is empty.
        """
        self._require_heads()
        shown = self._shown(MapView(hide_special=hide_special, words=words))
        return signed_tile(self._maps(layer, head, *shown, renormalize), rows, keys, size)

    def shown_partners(self, here: Sequence[Unit], there: Sequence[Unit]) -> dict[int, int]:
        """Map this run's shown places to the matching places of the reference."""
        places = {unit: at for at, unit in enumerate(there)}
        partners = {
            at: places.get(tuple(self._partners.get(token, -1) for token in unit))
            for at, unit in enumerate(here)
        }
        return {at: place for at, place in partners.items() if place is not None}

    @public
    def cell(self, query: Token, key: Token, view: MapView = AS_IT_RAN) -> CellChange:
        """One query's weight on one key in every head, here and in the reference.

        Args:
            query: a token of this run.
            key: another.
            view: what is hidden, renormalized and merged in both runs before they are subtracted;
                with words, each token stands for its word. Its layer and head are ignored.

        Raises:
            SelectionError: heads that cannot be compared, no such token, or one that is hidden.
        """
        self._require_heads()
        query, key = (query_of(self.trace, token, "token") for token in (query, key))
        here, there = self._shown(view)
        places = [place_of(here, at, self.trace, of) for at, of in ((query, "query"), (key, "key"))]
        partners = self.shown_partners(here, there)
        now = self._column(self.trace, query, places[1], view)
        before = np.full_like(now, np.nan)
        if all(place in partners for place in places):
            looks, at = there[partners[places[0]]][0], partners[places[1]]
            before = self._column(self.reference, looks, at, view)
        return CellChange(now, before, now - before)

    @public
    def row(self, query: Token, view: MapView = AS_IT_RAN) -> Float[np.ndarray, "layer head"]:
        """½ Σ |now − was| of one query's weights on the aligned keys, 0 … 1, by every head.

        NaN where the query has no partner. What moved to or from keys without a partner is not
        counted. `view` is that of `cell`.

        Raises:
            SelectionError: heads that cannot be compared, no such token, or one that is hidden.
        """
        self._require_heads()
        query = query_of(self.trace, query, "token")
        here, there = self._shown(view)
        partners = self.shown_partners(here, there)
        place = place_of(here, query, self.trace, "query")
        found = np.full(self._shape, np.nan, np.float32)
        if place not in partners:
            return found
        looks = there[partners[place]][0]
        for layer, heads in enumerate(found):
            now = shown_row(self.trace, layer, query, view)[:, list(partners)]
            was = shown_row(self.reference, layer, looks, view)[:, list(partners.values())]
            apart = np.abs(np.nan_to_num(now) - np.nan_to_num(was))  # a masked key has weight 0
            heads[: len(now)] = apart.sum(axis=1, dtype=np.float64) / 2
        return found

    @public
    def layer(self, layer: int, view: MapView = AS_IT_RAN) -> Float[np.ndarray, " head"]:
        """The mean of `row` over all aligned queries, of one layer's heads; NaN if none is.

        Raises:
            SelectionError: heads that cannot be compared, or no such layer.
        """
        self._require_heads()
        self.trace.attention(layer, rows=slice(0, 0))  # says so if there is no such layer
        ran, before = self.trace.layers[layer], self.reference.layers[layer]
        if not view.as_it_ran:
            return self._shown_layer(layer, view)
        if not self.aligned:
            return np.full(ran.n_heads, np.nan, np.float32)
        here, there = torch.from_numpy(self._sides)
        return row_distances(before, ran, (there, here)).mean(axis=1).astype(np.float32)

    @public
    def heads(
        self, query: Token | None = None, key: Token | None = None, view: MapView = AS_IT_RAN
    ) -> tuple[HeadChange, ...]:
        """All heads, the largest absolute change first; those without a number are left out.

        Args:
            query: rank by the change of this query's `row`.
            key: rank by the change of this `cell`. Without either, by `layer`.
            view: that of `cell`.

        Raises:
            SelectionError: heads that cannot be compared, no such token, or a key without a query.
        """
        if query is None and key is not None:
            raise SelectionError(f"Key {key} was given without a query; give both.")
        if query is None:
            self._require_heads()
            every = [self.layer(layer, view) for layer in range(self.trace.n_layers)]
        elif key is None:
            every = list(self.row(query, view))
        else:
            every = list(self.cell(query, key, view).change)
        found = [
            HeadChange(layer, head, float(change))
            for layer, heads in enumerate(every)
            for head, change in enumerate(heads)
            if not np.isnan(change)
        ]
        return tuple(sorted(found, key=lambda each: -abs(each.change)))

    def columns(self) -> Columns:
        """One line per head, by layer and head: its change, as of `heads`.

        Raises:
            SelectionError: heads that cannot be compared.
        """
        changes = np.full(self._shape, np.nan, np.float32)
        for layer, head, change in map(astuple, self.heads()):
            changes[layer, head] = change
        axes = {"layer": range(self._shape[0]), "head": range(self._shape[1])}
        return long_columns(axes, {"change": changes})

    def _shown(self, view: MapView) -> tuple[list[Unit], list[Unit]]:
        switches = {"hide_special": view.hide_special, "words": view.words}
        here, there = (shown_tokens(run, **switches) for run in (self.trace, self.reference))
        return here, there

    def _shown_layer(self, layer: int, view: MapView) -> Float[np.ndarray, " head"]:
        found, shown = np.full(self.trace.layers[layer].n_heads, np.nan), self._shown(view)
        for head in range(len(found)):
            maps = self._maps(layer, head, *shown, view.renormalize)
            ours = np.array(list(maps.partners), np.int64)
            total = sum(
                np.abs(np.nan_to_num(now) - np.nan_to_num(was)).sum(dtype=np.float64)
                for _, now, was in maps.both(ours, ours)
            )
            found[head] = total / 2 / len(ours) if len(ours) else np.nan
        return found.astype(np.float32)

    @cached_property
    def _partners(self) -> dict[int, int]:
        return dict(self.aligned)

    @cached_property
    def _sides(self) -> Int[np.ndarray, "2 token"]:
        """Those of the aligned tokens, in this run and in the reference."""
        return np.array(self.aligned, np.int64).reshape(-1, 2).T

    @property
    def _shape(self) -> tuple[int, int]:
        return self.trace.n_layers, max(layer.n_heads for layer in self.trace.layers)

    def _maps(
        self,
        layer: int,
        head: Head,
        here: Sequence[Unit] = (),
        there: Sequence[Unit] = (),
        renormalize: bool = False,
    ) -> MapChange:
        heads = heads_of(self.trace, layer, head)
        here, there = here or shown_tokens(self.trace), there or shown_tokens(self.reference)
        now = ShownMap(self.trace.layers[layer], heads, head, Side.of(here), renormalize)
        was = ShownMap(self.reference.layers[layer], heads, head, Side.of(there), renormalize)
        return MapChange(now, was, self.shown_partners(here, there))

    def _require_heads(self) -> None:
        if self.why:
            raise SelectionError(self.why)

    def _column(
        self, run: Trace, query: int, place: int, view: MapView
    ) -> Float[np.ndarray, "layer head"]:
        found = np.full(self._shape, np.nan, np.float32)
        for number, heads in enumerate(found):
            heads[: run.layers[number].n_heads] = shown_row(run, number, query, view)[:, place]
        return found
