"""Figures of a run: every view of figures/ as Plotly's JSON, or its numbers, by its name."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import plotly
import plotly.graph_objects as go
from fastapi import APIRouter, Response
from fastapi.responses import FileResponse

from viz_encoder.errors import SelectionError
from viz_encoder.export.figure_tables import figure_csv, figure_npz
from viz_encoder.figures.options import VIEWS, offered, read_options
from viz_encoder.figures.view import View, parted
from viz_encoder.trace.recorded_parts import RecordedParts
from viz_encoder.ui.state.attributed import attribution_of
from viz_encoder.ui.state.readable import readable
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import HEAD_REMOVED, NOT_PLAIN, Entry
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Given, Held
from viz_encoder.ui.wire.concurrency import Places
from viz_encoder.ui.wire.errors import ErrorRoute

PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
PURPOSE = "draw this"
NO_PICTURE = "This run read a text, and this view draws pictures."
TABLES = (".csv", ".npz")
ROUTER = APIRouter(prefix="/viz", route_class=ErrorRoute)
PLACES = Places(2)  # figures that are computed at the same time; the others wait, or are given up


@ROUTER.get("/plotly.min.js")
def library() -> FileResponse:
    """The Plotly that is installed here: no other server is asked for it."""
    return FileResponse(PLOTLY, headers={"cache-control": "public, max-age=86400"})


@ROUTER.get("/run/{run}/views")
def views(entry: Held) -> Response:
    """What can be drawn of this run, with each view's controls and what it measures."""
    parts = _parts(entry)
    return answers.plain({name: _description(view, entry, parts) for name, view in VIEWS.items()})


@ROUTER.get("/run/{run}/figure/{view}")
@PLACES
def figure_route(entry: Held, view: str, given: Given) -> Response:
    """One view; its controls are the query's parameters, and .csv or .npz gives its numbers."""
    name, kind = Path(view).stem, Path(view).suffix
    if kind in TABLES:
        drawn, model = draw_view(entry, name, given), entry.trace.origin.model
        made = figure_csv(drawn, model) if kind == ".csv" else figure_npz(drawn, model)
        return answers.download(made, f"{_stem(name, model, given)}{kind}")
    content = draw_view(entry, view, given).to_json()
    return Response(content, media_type="application/json", headers=answers.PRIVATE)


def figure(
    runner: Runner, key: str, view: str, options: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A view of a run as plotly.io.from_json reads it: {"data": ..., "layout": ...}.

    options are the keywords of the view, such as {"query": 3, "fuse": "max"}.
    """
    found: dict[str, Any]
    found = json.loads(draw_view(runner.store.get(key), str(view), _texts(options)).to_json())
    return found


ENDPOINTS = (figure,)


def draw_view(entry: Entry, name: str, given: Mapping[str, str]) -> go.Figure:
    """The figure of that name, with its options as text."""
    if name not in VIEWS:
        raise SelectionError(f"There is no view {name[:40]!r}; choose one of {', '.join(VIEWS)}.")
    view = VIEWS[name]
    options = read_options(view, given)
    parts = _parts(entry)
    if why := _missing(view, entry, parts):
        raise SelectionError(why)
    if "attribution" in view.takes:
        question, options = parted(options)
        parts["attribution"] = attribution_of(entry, question)
    return view.draw(*(parts[part] for part in view.takes), **options)


def _stem(name: str, model: str, given: Mapping[str, str]) -> str:
    """A file's name says of which model it is, and what was chosen: rollout-query-3-no-special."""
    said = {"hide_special": "no-special", "renormalize": "renormalized", "words": "words"}
    switches = [text for option, text in said.items() if given.get(option) == "yes"]
    chosen = [f"{option}-{value}" for option, value in given.items() if option not in said]
    return f"{answers.plain_name(model)}-{answers.plain_name('-'.join([name, *switches, *chosen]))}"


def _parts(entry: Entry) -> dict[str, Any]:
    inputs = entry.inputs if entry.plain else None  # they alone would not give this run again
    return {
        "trace": readable(entry.trace),
        "inputs": inputs,
        "encoder": entry.encoder,
        "weights": entry.weights,
    }


def _description(view: View, entry: Entry, parts: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": view.name,
        "title": view.title,
        "controls": offered(view, entry.trace),
        "look": view.look,
        "measured": view.measured,
        "notMeasured": view.not_measured,
        "source": view.source,
        "place": None if view.place is None else asdict(view.place),
        "missing": _missing(view, entry, parts),
    }


def _missing(view: View, entry: Entry, parts: dict[str, Any]) -> str:
    """Why this run cannot be drawn so, in a sentence; nothing if it can."""
    takes = ("encoder" if part == "attribution" else part for part in view.takes)
    if any(parts[part] is None for part in takes):
        gone = entry.plain or entry.encoder is None
        return entry.model_gone(PURPOSE) if gone else NOT_PLAIN
    if "weights" in view.takes and isinstance(parts["weights"], RecordedParts):
        return parts["weights"].undivided
    if "every head" in view.needs and entry.removed:
        return HEAD_REMOVED
    if "picture" in view.needs and entry.trace.sample.picture is None:
        return NO_PICTURE
    return ""


def _texts(options: object) -> dict[str, str]:
    if options in (None, ""):
        return {}
    if not isinstance(options, dict):
        raise SelectionError('options must be an object, such as {"query": 3}.')
    joined = {
        n: ",".join(map(str, v)) if isinstance(v, list) else str(v) for n, v in options.items()
    }
    return {str(name): text for name, text in joined.items()}
