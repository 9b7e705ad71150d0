"""Describes a run to the page: names and facts; weights are fetched by route."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, TypedDict

import numpy as np

from viz_encoder.analyses.predictions import tasks
from viz_encoder.inputs.text_rows import unknown_said
from viz_encoder.trace import Trace
from viz_encoder.trace.head_statistics import said
from viz_encoder.trace.map_view import SCALES, MapView
from viz_encoder.trace.token_selection import shown_tokens
from viz_encoder.ui.state.examples import is_example, swap_of
from viz_encoder.ui.state.opening import opening_of
from viz_encoder.ui.state.readable import shortened
from viz_encoder.ui.state.recipe import ALONE
from viz_encoder.ui.state.store import Entry

MAX_LINK_CHARACTERS = 3000
MAX_NOTE = 1000
MAX_NOTES = 50


class RunDescription(TypedDict):
    """Everything the page needs of a run except the numbers, as core/payloads.d.ts tells it."""

    key: str
    kind: str
    link: dict[str, str]
    model: str
    device: str
    dtype: str
    kernel: str
    revision: str
    weights: str
    hasModel: bool
    tasks: list[str]
    unsplit: str
    masked: str
    changed: dict[str, Any] | None
    nLayers: int
    nHeads: int
    tokens: list[str]
    special: list[bool]
    valid: list[bool]
    segments: list[int]
    words: list[int | None]
    grid: dict[str, int] | None
    notes: list[str]
    swap: tuple[str, str] | None
    example: bool
    opening: dict[str, int | str] | None
    vocabulary: dict[str, Any]


def describe(key: str, entry: Entry, plain: str, without: Entry | None = None) -> RunDescription:
    """Everything the page needs but numbers; `plain` is the key of the run without changes."""
    trace, recipe, encoder = entry.trace, entry.recipe, entry.encoder
    sample, origin, grid = trace.sample, trace.origin, trace.grid
    as_read, notes = replace(recipe, **ALONE), _notes(trace)
    own_notes = (
        [] if without is None else [each for each in notes if each not in _notes(without.trace)]
    )
    own, link = as_read.to_link(), recipe.to_link()
    return {
        "key": key,
        "kind": recipe.source.kind,
        "link": _short(link, own, key),
        "model": shortened(origin.model),
        "device": shortened(origin.device),
        "dtype": shortened(origin.dtype),
        "kernel": shortened(origin.kernel),
        "revision": shortened(origin.revision),
        "weights": shortened(origin.weights),
        "hasModel": encoder is not None,
        "unsplit": entry.model_gone("split an answer") if encoder is None else "",
        "tasks": [] if encoder is None else [str(task) for task in tasks(encoder)],
        "masked": entry.masked.words if entry.masked else "",
        "changed": _changed(entry, plain, own_notes) if recipe.changes else None,
        "nLayers": trace.n_layers,
        "nHeads": trace.n_heads,
        "tokens": [shortened(token) for token in trace.tokens],
        "special": list(sample.special),
        "valid": trace.valid.tolist(),
        "segments": list(sample.segments),
        "words": list(sample.words),
        "grid": None
        if grid is None
        else {"rows": grid.n_rows, "cols": grid.n_cols, "prefix": grid.n_prefix},
        "notes": [each for each in notes if each not in own_notes],
        "swap": swap_of(link.get("a", "")) if recipe == as_read else None,
        "example": recipe == as_read and is_example(link),
        "opening": opening_of(entry),
        "vocabulary": _vocabulary(trace),
    }


def for_component(content: Mapping[str, Any]) -> str:
    """JSON without markup: Gradio looks for tags in the value of a component."""
    return json.dumps(content).replace("<", "\\u003c")


def statistics_said(trace: Trace, view: MapView) -> dict[str, dict[str, Any]]:
    """Names and texts of the head statistics, over the part of the run that a view keeps."""
    valid = trace.valid.cpu().numpy()
    shown = [at for (at,) in shown_tokens(trace, hide_special=view.hide_special) if valid[at]]
    switches = {"hide_special": view.hide_special, "renormalize": view.renormalize}
    return said(np.array(shown, np.int64), **switches)


def _notes(trace: Trace) -> list[str]:
    """What is noted of a run, each once, and no more than a page can show."""
    notes = list(dict.fromkeys((*trace.sample.notes, *trace.notes)))
    return [shortened(note, MAX_NOTE) for note in notes[:MAX_NOTES]]


def _changed(entry: Entry, plain: str, notes: list[str]) -> dict[str, Any]:
    """What was changed, and what is noted of that alone; among it, of words it made unknown."""
    sample = entry.trace.sample
    unknown = unknown_said(sample.tokens, sample.spans)
    said = {"notes": notes, "unknown": unknown if unknown in notes else ""}
    return {"plain": plain, "changes": entry.changes_said, **said}


def _vocabulary(trace: Trace) -> dict[str, Any]:
    """Names and texts of head statistics and color scales."""
    return {
        "statistics": statistics_said(trace, MapView()),
        "scales": {name: asdict(scale) for name, scale in SCALES.items()},
    }


def _short(link: dict[str, str], own: dict[str, str], key: str) -> dict[str, str]:
    """The link's own text where it is short; else the key, under which the run is held."""
    if sum(map(len, own.values())) > MAX_LINK_CHARACTERS:
        made = {name: part for name, part in link.items() if name not in own}
        return {"kind": link["kind"], "model": shortened(link["model"]), **made, "run": key}
    return link | ({"run": key} if "run" in link else {})
