"""The numbers of any figure as CSV or npz: each drawn trace with the names on its axes."""

import html
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz_encoder.export.tables import cells
from viz_encoder.result import csv_line, harmless, npz_file
from viz_encoder.shown import unisolated

DIMENSIONS = ("x", "y", "z", "text")
SKIPPED = ("image",)  # the picture behind a heatmap is no measurement


def figure_csv(figure: go.Figure, model: str = "") -> Iterator[str]:
    """A heatmap's cells under the names of its axes; of other traces, a line a point.

    Each line ends with the figure's title and the model, where one is named. A masked cell is
    empty. A name that a spreadsheet would take for a formula begins with an apostrophe.
    """
    drawn = _measured(figure)
    of = [_words(figure.layout.title.text), model] if model else []
    for number, trace in enumerate(drawn):
        if number:
            yield "\n"
        lines = _table(figure, trace) if trace.type == "heatmap" else _points(trace)
        for line, named in enumerate(lines):
            last = of if line else ["title", "model"][: len(of)]
            yield csv_line([_safe(cell) for cell in (*named, *last)])


def figure_npz(figure: go.Figure, model: str = "") -> bytes:
    """Arrays as a compressed npz file: x_0, y_0, z_0 of the first trace, and the title."""
    named = {"title": np.array(_words(figure.layout.title.text)), "model": np.array(model)}
    said = [each.text for each in figure.layout.annotations if each.name == "caption"]
    named["caption"] = np.array(" ".join(map(_words, said)))
    for number, trace in enumerate(_measured(figure)):
        for name in DIMENSIONS:
            if getattr(trace, name, None) is not None:
                named[f"{name}_{number}"] = _array(getattr(trace, name))
    for axis in ("xaxis", "yaxis"):
        named[f"{axis}_title"] = np.array(_words(figure.layout[axis].title.text))
    return npz_file(named)


def _measured(figure: go.Figure) -> list[Any]:
    """The traces with numbers of their own: not a picture, nor the marks of masked cells."""
    return [
        trace
        for trace in figure.data
        if trace.type not in SKIPPED and not (trace.type == "heatmap" and trace.showscale is False)
    ]


def _table(figure: go.Figure, trace: Any) -> Iterator[list[str]]:
    values = np.asarray(trace.z)
    rows, columns = values.shape
    across, down = (_words(figure.layout[axis].title.text) for axis in ("xaxis", "yaxis"))
    yield [f"{down} \\ {across}", *_names(trace.x, columns)]
    for name, row in zip(_names(trace.y, rows), values, strict=True):
        yield [name, *cells(row)]


def _points(trace: Any) -> Iterator[list[str]]:
    given = {name: getattr(trace, name, None) for name in DIMENSIONS}
    columns = {name: np.ravel(_array(each)) for name, each in given.items() if each is not None}
    longest = max((len(each) for each in columns.values()), default=0)
    full = {name: each for name, each in columns.items() if len(each) == longest}
    yield ["trace", *full]
    for point in zip(*map(cells, full.values()), strict=True):
        yield [_words(trace.name), *point]


def _names(given: Any, count: int) -> list[str]:
    return [_words(name) for name in (range(count) if given is None else given)]


def _array(given: Any) -> np.ndarray:
    values = np.asarray(given)
    if values.dtype.kind in "fiub":
        return values
    return np.array([_words(each) for each in values.ravel().tolist()], np.str_)


def _words(text: Any) -> str:
    """Plotly's text as a person reads it: its line breaks, escapes and isolates undone."""
    return "" if text is None else unisolated(html.unescape(re.sub(r"<br>", " ", str(text))))


def _safe(cell: str) -> str:
    """Any cell but a number, which may begin with a minus, is kept from being a formula."""
    try:
        float(cell)
    except ValueError:
        return harmless(cell)
    return cell
