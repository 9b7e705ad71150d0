"""Files of what is on screen: a page, tables, the saved run or code, named by what they hold."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from fastapi import Response
from jaxtyping import Float

from viz_encoder.analyses.compare import Comparison
from viz_encoder.effects.outcome import Outcome
from viz_encoder.errors import SelectionError, TooLong
from viz_encoder.export import csv_lines, draw_page, npz_bytes, snippet
from viz_encoder.export.tables import BLOCK_ROWS, kept_queries, map_lines, map_said
from viz_encoder.shown import quoted
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import MapView
from viz_encoder.ui.state.attributed import outcome_of
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.tabs.explore.comparison import switches
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import parse_index

KINDS = ("html", "csv", "npz", "safetensors", "py")
ROWS = ("csv", "npz")  # kinds that hold one query's row alone, where one is given
MAX_TOKENS = 2048  # for a whole map as a table; one row has no limit
# Letters of a text that is cut: texts often differ in their last words.
FIRST_LETTERS, LAST_LETTERS = 25, 15


def named_file(entry: Entry, kind: str, view: MapView, query: int | None) -> Response:
    """The file of that kind: of the map, or of one query's row.

    Raises:
        SelectionError: no such kind or query.
        TooLong: a whole map as a table, of more tokens than a table is made for.
    """
    if kind not in KINDS:
        raise SelectionError(f"There is no download {kind[:20]!r}; choose {', '.join(KINDS)}.")
    if query is not None:
        parse_index("query", query, entry.trace.n_tokens)
    content = _content(entry, kind, view, query)
    row = "" if query is None or kind not in ROWS else f"-query-{query}"
    changed = "" if kind == "safetensors" else _changes(view)
    return answers.download(content, f"{_stem(entry.trace, view)}{row}{changed}.{kind}")


def change_file(found: Comparison, view: MapView) -> Response:
    """The signed map, this run − the reference, as a table.

    Raises:
        SelectionError: heads that cannot be compared.
        TooLong: more tokens than a table is made for.
    """
    _require_fits(found.trace)
    name = f"{_stem(found.trace, view)}-change{_changes(view)}.csv"
    return answers.download(change_csv_lines(found, view), name)


def _stem(trace: Trace, view: MapView) -> str:
    heads = view.head if isinstance(view.head, tuple) else (view.head,)
    return f"{answers.plain_name(trace.origin.model)}-{view.layer}.{'-'.join(map(str, heads))}"


def _changes(view: MapView) -> str:
    said = {
        "-no-special": view.hide_special,
        "-renormalized": view.renormalize,
        "-words": view.words,
    }
    return "".join(text for text, is_so in said.items() if is_so)


def _content(entry: Entry, kind: str, view: MapView, query: int | None) -> bytes | Iterable[str]:
    trace = entry.trace
    if kind == "py":
        return _code(entry, view, query)
    if kind == "html":
        code = _code(entry, view, None)
        return draw_page(trace, view, query=query, snippet=code, changed=_changed(entry))
    if kind == "safetensors":
        return _saved(trace)
    if query is None:
        _require_fits(trace)
    return npz_bytes(trace, view, query) if kind == "npz" else csv_lines(trace, view, query)


def _changed(entry: Entry) -> tuple[list[str], Outcome] | None:
    if not entry.recipe.changes:
        return None
    return [change["words"] for change in entry.changes_said], outcome_of(entry)


def _require_fits(trace: Trace) -> None:
    if trace.n_tokens > MAX_TOKENS:
        raise TooLong(
            f"This run has {trace.n_tokens:,} tokens; a whole map is given as a table up to "
            f"{MAX_TOKENS:,}. Use the chosen query's row, or the saved run."
        )


def _code(entry: Entry, view: MapView, query: int | None) -> str:
    """Python that gives the view again, from the model and the text; else from the saved run."""
    trace, recipe = entry.trace, entry.recipe
    read = None if entry.reading is None else entry.reading.inputs.samples[0]
    texts = (read or trace.sample).texts
    readable = texts or trace.grid is not None
    if not entry.loads_as or recipe.mask or recipe.pad or not readable:
        said = "# run.safetensors is this run, saved from the page.\n"
        return said + snippet(Path("run.safetensors"), view, query=query)
    model, codes = entry.loads_as, [change.code for change in recipe.changes]
    if not texts:
        said = "# Replace picture.png with your own picture's file.\n"
        return said + snippet(Path("picture.png"), view, model=model, query=query, changes=codes)
    source = (texts[0], texts[1]) if len(texts) > 1 else texts[0]
    return snippet(source, view, model=model, query=query, changes=codes)


def _saved(trace: Trace) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.safetensors"
        trace.save(path)
        return path.read_bytes()


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
    n_shown = len(kept_queries(found.trace, view))
    size = max(BLOCK_ROWS, n_shown)  # so large that nothing is pooled
    for start in range(0, n_shown, BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        yield found.tile(view.layer, view.head, rows=rows, size=size, **switches(view)).values
