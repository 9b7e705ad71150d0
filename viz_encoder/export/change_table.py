"""Change table: the map of one head less that of a reference, as CSV for spreadsheets."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.compare import Comparison
from viz_encoder.export.tables import BLOCK_ROWS, kept_queries, map_lines, map_said
from viz_encoder.shown import quoted
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import MapView

FIRST_LETTERS, LAST_LETTERS = (
    25,
    15,
)  # of a truncated text, because texts often differ in their last words


def change_csv_lines(found: Comparison, view: MapView) -> Iterator[str]:
    """The lines of a CSV like that of `csv_lines`; each cell is this run − the reference.

    Differences of weights in shares of a query's total, written so that reading them gives the
    same bits. A cell is empty where a mask forbids the pair in either run, and where a token has
    no partner in the reference.

    Raises:
        SelectionError: heads that cannot be compared, or no such layer or head.
    """
    which, *done = map_said(view).split("; ")
    said = "; ".join([f"{which}, change from {reference_name(found)}", *done])
    return map_lines(found.trace, view, said, _blocks(found, view))


def reference_name(found: Comparison) -> str:
    """The reference by its text, cut in the middle, and by its model where that is another."""
    reference = found.reference
    model = reference.origin.model
    if reference.grid is not None:
        return f"{model}, a picture of {reference.grid.n_rows} × {reference.grid.n_cols} patches"
    name = quoted(_cut(_text(reference)))
    return name if model == found.trace.origin.model else f"{model}, {name}"


def _text(trace: Trace) -> str:
    if trace.sample.texts:
        return trace.sample.texts[0]
    named = zip(trace.tokens, trace.sample.special, strict=True)
    return " ".join(token for token, special in named if not special)


def _cut(text: str) -> str:
    whole = len(text) <= FIRST_LETTERS + LAST_LETTERS
    return text if whole else f"{text[:FIRST_LETTERS]}…{text[-LAST_LETTERS:]}"


def _blocks(found: Comparison, view: MapView) -> Iterator[Float[np.ndarray, "query key"]]:
    """The exact cells of the signed map, some rows at a time."""
    n_shown = len(kept_queries(found.trace, view))
    kept: dict[str, Any] = {
        "hide_special": view.hide_special,
        "renormalize": view.renormalize,
        "words": view.words,
    }
    size = max(BLOCK_ROWS, n_shown)  # so large that nothing is pooled
    for start in range(0, n_shown, BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        yield found.tile(view.layer, view.head, rows=rows, size=size, **kept).values
