"""Selects the keys that a row shows: without special tokens, the rest renormalized."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from viz_encoder.errors import SelectionError

SHARE = "<br>(share of the row's total on the tokens shown)"


@dataclass(frozen=True, eq=False)
class ShownKeys:
    """Rows over the keys that are shown, and what was done to them in words."""

    rows: Float[np.ndarray, "layer key"]
    tokens: Int[np.ndarray, " key"]  # the keys by their numbers
    says: str  # sentences for the caption; "" where nothing was done
    renormalized: bool

    def bar(self, title: str) -> str:
        """The scale's title: the measure's own, or a share of what is shown."""
        return title.partition("<br>")[0] + SHARE if self.renormalized else title

    def place(self, token: int) -> int | None:
        """The column of a token; None where it is hidden."""
        found = np.flatnonzero(self.tokens == token)
        return int(found[0]) if len(found) else None


def shown_keys(
    rows: Float[np.ndarray, "layer key"],
    special: tuple[bool, ...],
    *,
    hide_special: bool,
    renormalize: bool,
) -> ShownKeys:
    """Select the shown part of a measure over all tokens; NaN stays NaN.

    A row without anything on the keys that are shown keeps its zeros.

    Raises:
        SelectionError: every token is special.
    """
    tokens = np.flatnonzero(~np.array(special)) if hide_special else np.arange(rows.shape[1])
    if not len(tokens):
        raise SelectionError("Every token of this run is special; show special tokens again.")
    shown = rows[:, tokens]
    if renormalize:
        sums = np.nansum(shown, axis=1, keepdims=True)
        shown = shown / np.where(sums == 0, 1, sums)
    return ShownKeys(shown, tokens, _says(hide_special, renormalize), renormalize)


def _says(hide_special: bool, renormalize: bool) -> str:
    """The caption's sentences."""
    if not hide_special and not renormalize:
        return ""
    hidden = "Special tokens are left out of the keys." if hide_special else ""
    rest = (
        "Rows are renormalized: each is divided by its sum over the keys shown."
        if renormalize
        else "The other values are not renormalized."
    )
    return f" Shown: {hidden} {rest} The measure is computed over all tokens.".replace("  ", " ")
