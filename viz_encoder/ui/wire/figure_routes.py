"""Figures of a run: every view of figures/ as Plotly's JSON, or its numbers, by its name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import plotly
import plotly.graph_objects as go
from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, JSONResponse

from viz_encoder.analyses.predictions import tasks
from viz_encoder.errors import SelectionError
from viz_encoder.export.figure_tables import figure_csv, figure_npz
from viz_encoder.figures import VIEWS
from viz_encoder.figures.options import offered, read_options
from viz_encoder.figures.view import View
from viz_encoder.ui.state.store import Entry, TraceStore, model_gone
from viz_encoder.ui.wire.concurrency import Places

PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
MODEL_GONE = model_gone("draw this")
NO_PICTURE = "This run is of a text, and this view draws pictures."
NO_HEAD = (
    "This model has no head that gives an answer; choose one that has, such as grammar or scene."
)
AT_ONCE = 2  # figures that are computed at the same time; the others wait, or are given up
PRIVATE = {"cache-control": "private, max-age=3600"}
TABLES = {".csv": "text/csv; charset=utf-8", ".npz": "application/octet-stream"}


def make_figure_router(store: TraceStore, route_class: type[Any]) -> APIRouter:
    """The routes: Plotly itself, the list of views, and each view of a run."""
    router = APIRouter(prefix="/viz", route_class=route_class)
    places = Places(AT_ONCE)

    @router.get("/plotly.min.js")
    def library() -> FileResponse:
        """The Plotly that is installed here: no other server is asked for it."""
        return FileResponse(PLOTLY, headers={"cache-control": "public, max-age=86400"})

    @router.get("/run/{key}/views")
    def views(key: str) -> JSONResponse:
        """What can be drawn of this run, with each view's controls and what it measures."""
        entry = store.get(key)
        listed = {name: _description(view, entry) for name, view in VIEWS.items()}
        return JSONResponse(listed, headers=PRIVATE)

    @router.get("/run/{key}/figure/{view}")
    async def figure(key: str, view: str, request: Request) -> Response:
        """One view; its controls are the query's parameters, and .csv or .npz gives its numbers."""
        entry, given = store.get(key), dict(request.query_params)
        return await places.answer(request, lambda: _figure(entry, view, given))

    return router


def draw_view(entry: Entry, name: str, given: Mapping[str, str]) -> go.Figure:
    """The figure of that name, with its options as text.

    Raises:
        SelectionError: no such view or option, or the view needs a model that is not here.
    """
    if name not in VIEWS:
        raise SelectionError(f"There is no view {name[:40]!r}; there are {', '.join(VIEWS)}.")
    view = VIEWS[name]
    options = read_options(view, given)
    taken = [_parts(entry)[part] for part in view.takes]
    if any(part is None for part in taken):
        raise SelectionError(MODEL_GONE)
    return view.draw(*taken, **options)


def _figure(entry: Entry, view: str, given: Mapping[str, str]) -> Response:
    name, kind = Path(view).stem, Path(view).suffix
    if kind in TABLES:
        return _table(draw_view(entry, name, given), name, kind)
    drawn = draw_view(entry, view, given)
    return Response(drawn.to_json(), media_type="application/json", headers=PRIVATE)


def _parts(entry: Entry) -> dict[str, Any]:
    """What a view may take."""
    return {"trace": entry.trace, "encoder": entry.encoder, "inputs": entry.inputs}


def _description(view: View, entry: Entry) -> dict[str, Any]:
    return {
        "title": view.title,
        "controls": offered(view, entry.trace),
        "measured": view.measured,
        "notMeasured": view.not_measured,
        "source": view.source,
        "missing": _missing(view, entry),
    }


def _missing(view: View, entry: Entry) -> str:
    """Why this run cannot be drawn so, in a sentence; nothing if it can."""
    if any(_parts(entry)[part] is None for part in view.takes):
        return MODEL_GONE
    if "picture" in view.needs and entry.trace.sample.picture is None:
        return NO_PICTURE
    if "answer" in view.needs and (entry.encoder is None or not tasks(entry.encoder)):
        return NO_HEAD
    return ""


def _table(drawn: go.Figure, name: str, kind: str) -> Response:
    text = "".join(figure_csv(drawn)).encode("utf-8", "backslashreplace") if kind == ".csv" else b""
    headers = {
        "cache-control": "no-store",
        "content-disposition": f'attachment; filename="{name}{kind}"',
        "x-content-type-options": "nosniff",
    }
    return Response(text or figure_npz(drawn), media_type=TABLES[kind], headers=headers)
