"""Save: a view into a file, of the kind that its name asks for."""

from pathlib import Path
from typing import Any

from viz_encoder.attribution.attribution import Attribution
from viz_encoder.errors import SelectionError, TraceError
from viz_encoder.export.page import draw_page
from viz_encoder.export.tables import csv_lines, npz_bytes
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import MapView
from viz_encoder.whole_file import PICTURES, kind_of, write_whole


def picture(figure: Any, kind: str, *, width: int, height: int) -> bytes:
    """The content of a .png, .svg or .pdf file."""
    # A page has room above and a ground of its own; a file has neither.
    figure.update_layout(
        margin_t=170, margin_l=120, title_y=0.98, title_yanchor="top", paper_bgcolor="white"
    )
    try:
        content: bytes = figure.to_image(format=kind[1:], width=width, height=height)
    except Exception as fault:  # kaleido's own, Chrome's and Plotly's
        raise TraceError(f"kaleido could not draw {kind}: {str(fault)[:300]}") from fault
    return content


KINDS = (".html", ".csv", ".npz", *PICTURES)

KEPT = ("hide_special", "renormalize", "words")  # which tokens a map is of


def save(
    trace: Trace,
    path: str | Path,
    view: MapView,
    *,
    query: int | None = None,
    snippet: str = "",
    explained: Attribution | None = None,
) -> int:
    """Write one map, or one row of it, and give the file's size in bytes.

    A file of that name is replaced only when the new one is whole.

    Args:
        trace: the run.
        path: ends in .html (all heads, offline), .csv, .npz, .png, .svg or .pdf.
        view: the map; its scale is of the colors in .html.
        query: the number of one token: its row alone; in .html, a row to mark.
        snippet: Python that gives the map again, shown in .html.
        explained: a score, of which the .html draws how it got there.
    """
    path = Path(path)
    kind = kind_of(path, KINDS)
    if view.scale != "head" and kind != ".html":
        raise SelectionError(f"A {kind} file has no choice of color scale; choose .html for it.")
    if kind == ".csv":
        lines = csv_lines(trace, view, query)
        # A broken character (lone surrogate) has no UTF-8; it is written as \udc00.
        return write_whole((line.encode("utf-8", "backslashreplace") for line in lines), path)
    if kind == ".npz":
        return write_whole([npz_bytes(trace, view, query)], path)
    if kind == ".html":
        page = draw_page(trace, view, query=query, snippet=snippet, explained=explained)
        return write_whole([page], path)
    return write_whole([_picture(trace, kind, view, query)], path)


def _picture(trace: Trace, kind: str, view: MapView, query: int | None) -> bytes:
    from viz_encoder.figures.options import placed  # Plotly is slow to import

    if query is not None and trace.grid is None:
        raise SelectionError(
            f"A {kind} file of a text shows the whole map; leave out the query, or choose .csv."
        )
    of: dict[str, Any] = {name: getattr(view, name) for name in ("layer", "head", *KEPT)}
    if query is None:
        figure = placed("explore", "map")[0].draw(trace, **of)
    else:
        (overlay, *_) = placed("explore", "overlay")
        figure = overlay.draw(trace, query=query, **{x: of[x] for x in of if x != "words"})
    return picture(figure, kind, width=900, height=900)
