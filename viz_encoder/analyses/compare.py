"""Compare: two runs of any text, model or mask, token by token, head by head."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int

from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult, Columns, TableResult, long_columns
from viz_encoder.shown import OneLine
from viz_encoder.trace import Trace
from viz_encoder.trace.alignment import align
from viz_encoder.trace.map_change import MapChange, SignedTile, query_row, signed_tile
from viz_encoder.trace.map_view import Head, heads_of
from viz_encoder.trace.row_distance import row_distances
from viz_encoder.trace.shown_map import ShownMap, Unit
from viz_encoder.trace.token_selection import shown_tokens


@dataclass(frozen=True, eq=False, repr=False)
class CellChange(ArrayResult, TableResult, main="change"):
    """One query's weight on one key by every head, 0 … 1, here and in the reference.

    NaN where the mask forbids the key, and in `was` and `change` where the query or the key has
    no partner.
    """

    now: Float[np.ndarray, "layer head"]
    was: Float[np.ndarray, "layer head"]
    change: Float[np.ndarray, "layer head"]  # now − was

    def columns(self) -> Columns:
        """One line per layer and head."""
        axes = {"layer": range(self.now.shape[0]), "head": range(self.now.shape[1])}
        return long_columns(axes, {"now": self.now, "was": self.was, "change": self.change})


@dataclass(frozen=True)
class HeadChange:
    """A head, and how far it changed: now − was of a cell, or a distance of rows, 0 … 1."""

    layer: int
    head: int
    change: float


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(OneLine):
    """Two runs, their tokens aligned; every number is this run − the reference.

    Weights are shares of a query's total. Heads are compared by their number: those of one number
    in different models have nothing to do with each other.
    """

    trace: Trace
    reference: Trace
    aligned: tuple[tuple[int, int], ...]  # (place in this run, place in the reference), rising
    only_here: tuple[int, ...]  # real tokens of this run without a partner
    only_there: tuple[int, ...]  # real tokens of the reference without one
    by: str  # what was aligned: "tokens", or "words" where the tokenizers differ
    why: str  # why heads cannot be compared one by one, a plain sentence; "" where they can

    def partner(self, token: int) -> int | None:
        """The token of the reference that stands for this one; None where there is none.

        Raises:
            SelectionError: no such token.
        """
        if not 0 <= token < self.trace.n_tokens:
            last = self.trace.n_tokens - 1
            raise SelectionError(f"There is no token {token}; choose 0 to {last}.")
        return self._partners.get(token)

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
        changes = self._maps(layer, head)
        blocks = [block for _, block in changes.blocks(self._here, self._here)]
        return np.concatenate([np.zeros((0, len(self.aligned)), np.float32), *blocks])

    def tile(
        self,
        layer: int,
        head: Head,
        *,
        rows: slice = slice(None),
        keys: slice = slice(None),
        size: int = 512,
        hide_special: bool = False,
        renormalize: bool = False,
        words: bool = False,
    ) -> SignedTile:
        """A part of the signed map over all that is shown of this run, at most `size` cells a side.

        Each run's map is made as `overview` makes it, then they are subtracted.

        Args:
            layer: counted from 0.
            head: as of `map`.
            rows: queries of this run, as numbers among what is shown.
            keys: keys of this run, likewise.
            size: more cells than that a side are pooled: the change of the largest amount, signed.
            hide_special: whether special tokens are left out of both runs.
            renormalize: divide each query's weights by their sum over the keys shown.
            words: whether the sub-words of a word are merged; a word has a partner where all of
                its sub-words have theirs in one word.

        Raises:
            SelectionError: as of `map`, or a part that is empty.
        """
        self._require_heads()
        here, there = (
            shown_tokens(run, hide_special=hide_special, words=words)
            for run in (self.trace, self.reference)
        )
        changes = self._maps(layer, head, here, there, renormalize)
        return signed_tile(changes, rows, keys, size)

    def shown_partners(self, here: Sequence[Unit], there: Sequence[Unit]) -> dict[int, int]:
        """Which place among what is shown of the reference stands for which of this run."""
        places = {unit: at for at, unit in enumerate(there)}
        partners = {
            at: places.get(tuple(self._partners.get(token, -1) for token in unit))
            for at, unit in enumerate(here)
        }
        return {at: place for at, place in partners.items() if place is not None}

    def cell(self, query: int, key: int) -> CellChange:
        """One query's weight on one key, by every head, here and in the reference.

        Raises:
            SelectionError: heads that cannot be compared, or no such token.
        """
        self._require_heads()
        was = self.partner(query), self.partner(key)
        now = self._column(self.trace, query, key)
        before = np.full_like(now, np.nan)
        if was[0] is not None and was[1] is not None:
            before = self._column(self.reference, was[0], was[1])
        return CellChange(now, before, now - before)

    def row(self, query: int) -> Float[np.ndarray, "layer head"]:
        """½ Σ |now − was| of one query's weights on the aligned keys, 0 … 1, by every head.

        NaN where the query has no partner. What moved to or from keys without a partner is not
        counted.

        Raises:
            SelectionError: heads that cannot be compared, or no such token.
        """
        self._require_heads()
        there = self.partner(query)
        found = np.full(self._shape, np.nan, np.float32)
        if there is None:
            return found
        for layer, heads in enumerate(found):
            now = query_row(self.trace.layers[layer], query)[:, self._here]
            was = query_row(self.reference.layers[layer], there)[:, self._there]
            apart = np.abs(np.nan_to_num(now) - np.nan_to_num(was))  # a masked key has weight 0
            heads[: len(now)] = apart.sum(axis=1, dtype=np.float64) / 2
        return found

    def layer(self, layer: int) -> Float[np.ndarray, " head"]:
        """The mean of `row` over all aligned queries, of one layer's heads; NaN if none is.

        Raises:
            SelectionError: heads that cannot be compared, or no such layer.
        """
        self._require_heads()
        self.trace.attention(layer, rows=slice(0, 0))  # says so if there is no such layer
        ran, before = self.trace.layers[layer], self.reference.layers[layer]
        if not self.aligned:
            return np.full(ran.n_heads, np.nan, np.float32)
        places = torch.from_numpy(self._there), torch.from_numpy(self._here)
        return row_distances(before, ran, places).mean(axis=1).astype(np.float32)

    def heads(self, query: int | None = None, key: int | None = None) -> tuple[HeadChange, ...]:
        """All heads, the largest absolute change first; those without a number are left out.

        Args:
            query: rank by the change of this query's `row`.
            key: rank by the change of this `cell`. Without either, by `layer`.

        Raises:
            SelectionError: heads that cannot be compared, no such token, or a key without a query.
        """
        if query is None and key is not None:
            raise SelectionError(f"The key {key} is given without a query; give both.")
        if query is None:
            self._require_heads()
            every = [self.layer(layer) for layer in range(self.trace.n_layers)]
        else:
            every = list(self.row(query) if key is None else self.cell(query, key).change)
        found = [
            HeadChange(layer, head, float(change))
            for layer, heads in enumerate(every)
            for head, change in enumerate(heads)
            if not np.isnan(change)
        ]
        return tuple(sorted(found, key=lambda each: -abs(each.change)))

    @cached_property
    def _partners(self) -> dict[int, int]:
        return dict(self.aligned)

    @cached_property
    def _here(self) -> Int[np.ndarray, " token"]:
        return np.array([ours for ours, _ in self.aligned], np.int64)

    @cached_property
    def _there(self) -> Int[np.ndarray, " token"]:
        return np.array([theirs for _, theirs in self.aligned], np.int64)

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
        now = ShownMap(self.trace.layers[layer], heads, head, here, renormalize)
        was = ShownMap(self.reference.layers[layer], heads, head, there, renormalize)
        return MapChange(now, was, self.shown_partners(here, there))

    def _require_heads(self) -> None:
        if self.why:
            raise SelectionError(self.why)

    def _column(self, run: Trace, query: int, key: int) -> Float[np.ndarray, "layer head"]:
        found = np.full(self._shape, np.nan, np.float32)
        for heads, layer in zip(found, run.layers, strict=True):
            heads[: layer.n_heads] = query_row(layer, query)[:, key]
        return found


def compare(trace: Trace, reference: Trace) -> Comparison:
    """Align the tokens of two runs, and take the second from the first wherever one asks.

    The runs may be of any texts, models, masks or padding. Tokens are aligned by the longest common
    subsequence, over words where the tokenizers differ. It says that weights differ, not why, nor
    whether the model's answer would. Nothing is computed before it is asked for, and never a whole
    set of maps.

    Args:
        trace: the run that is looked at.
        reference: the run to compare with.

    Raises:
        TooLong: two long runs that have little in common.
    """
    found = align(trace, reference)
    why = _why(trace, reference)
    return Comparison(
        trace, reference, found.pairs, found.only_here, found.only_there, found.by, why
    )


def _why(trace: Trace, reference: Trace) -> str:
    """Why heads cannot be compared one by one; "" where they can."""
    for name, run in (("This run", trace), ("The reference", reference)):
        if any(layer.cross or layer.k.shape[1] != run.n_tokens for layer in run.layers):
            return (
                f"{name} has cross-attention, whose keys are other tokens; compare self-attention."
            )
    counts = [[layer.n_heads for layer in run.layers] for run in (trace, reference)]
    if counts[0] == counts[1]:
        return ""
    here, there = (f"{len(each)} layers × {max(each)} heads" for each in counts)
    return (
        f"This run has {here} and the reference {there}, so no head has a counterpart; only the "
        "tokens are compared. Compare runs of models of the same size head by head."
    )


ANALYSES = (compare,)
