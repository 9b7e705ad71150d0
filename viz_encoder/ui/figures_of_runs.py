"""Figures of a run: every view of figures/ as the JSON that Plotly draws, by its name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import plotly
from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse

from viz_encoder.errors import SelectionError
from viz_encoder.figures import VIEWS
from viz_encoder.figures.view import Control, View
from viz_encoder.ui.numbers import is_number, parse_head
from viz_encoder.ui.store import Entry, TraceStore

PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
MODEL_GONE = "The model of this run is not here; run the text or picture again to draw this."


def make_figure_router(store: TraceStore, route_class: type[Any]) -> APIRouter:
    """The routes: Plotly itself, and each view of a run under /viz/run/{key}/figure/{view}."""
    router = APIRouter(prefix="/viz", route_class=route_class)

    @router.get("/plotly.min.js")
    def library() -> FileResponse:
        """The Plotly that is installed here: no other server is asked for it."""
        return FileResponse(PLOTLY, headers={"cache-control": "public, max-age=86400"})

    @router.get("/run/{key}/figure/{view}")
    def figure(key: str, view: str, request: Request) -> Response:
        """One view of a run; its controls are the query's parameters."""
        if view not in VIEWS:
            raise SelectionError(f"There is no view {view[:40]!r}; there are {', '.join(VIEWS)}.")
        entry, chosen = store.get(key), VIEWS[view]
        options = _options(chosen, entry, dict(request.query_params))
        content = chosen.draw(*_taken(chosen, entry), **options).to_json()
        headers = {"cache-control": "private, max-age=3600"}
        return Response(content, media_type="application/json", headers=headers)

    return router


def _taken(view: View, entry: Entry) -> list[Any]:
    """What the view draws, in its order."""
    parts = {"trace": entry.trace, "encoder": entry.encoder, "inputs": entry.inputs}
    taken = [parts[name] for name in view.takes]
    if any(part is None for part in taken):
        raise SelectionError(MODEL_GONE)
    return taken


def _options(view: View, entry: Entry, given: dict[str, str]) -> dict[str, Any]:
    """The parameters as the view's keywords; one that it does not have is named."""
    controls = {control.name: control for control in view.controls}
    for name in given:
        if name not in controls:
            raise SelectionError(
                f"{view.title} has no option {name[:40]!r}; it has {', '.join(controls) or 'none'}."
            )
    return {name: _value(controls[name], text, entry) for name, text in given.items()}


def _value(control: Control, text: str, entry: Entry) -> Any:
    """A choice by its name, a head, or a whole number; the view itself checks its range."""
    if control.choices:
        if text not in control.choices:
            raise SelectionError(
                f"{control.label} is {text[:40]!r}; choose {', '.join(control.choices)}."
            )
        return text
    if control.name == "head" and text != "sum":
        return parse_head(text, entry.trace)
    sign: Callable[[int], int] = (lambda n: -n) if text.startswith("-") else (lambda n: n)
    return sign(int(text.removeprefix("-"))) if is_number(text.removeprefix("-")) else text
