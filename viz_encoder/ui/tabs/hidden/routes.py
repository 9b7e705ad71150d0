"""Hidden states: the numbers that the tab draws, and their files."""

import json
from dataclasses import fields
from typing import Any, TypedDict
from urllib.parse import quote

import numpy as np
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from jaxtyping import Float

from viz_encoder.analyses.projection import Projection
from viz_encoder.analyses.residual_change import HiddenChange, ResidualChange
from viz_encoder.analyses.token_similarity import TokenSimilarity, token_similarity
from viz_encoder.errors import SelectionError, TooLong
from viz_encoder.export.states import Result, state_lines, state_npz
from viz_encoder.trace.token_selection import kept_tokens, n_states
from viz_encoder.ui.state.store import Entry, TraceStore
from viz_encoder.ui.tabs.hidden.results import measure_states, plain
from viz_encoder.ui.wire.concurrency import Places

AT_ONCE = 2  # results that are computed at the same time; the others wait, or are given up
MAX_TOGETHER = 64  # tokens of a run whose matrices of all layers travel at once
PRIVATE = {"cache-control": "private, max-age=3600"}
TABLES = {"csv": "text/csv; charset=utf-8", "npz": "application/octet-stream"}


class _Asked(TypedDict):
    """What a result is of, as measure_states names it."""

    layer: int
    token: int
    special: bool
    center: str
    task: str


def make_hidden_router(store: TraceStore, route_class: type[Any]) -> APIRouter:
    """The routes of one store, under /viz/run/{key}/hidden."""
    router = APIRouter(prefix="/viz/run/{key}/hidden", route_class=route_class)
    wanted = Places(AT_ONCE).answer

    @router.get("/likenesses")
    async def likenesses(key: str, request: Request, special: bool = True) -> Response:
        """Cosines after every number of blocks, float32 "state token token", of a short run."""
        entry = store.get(key)
        return await wanted(request, lambda: _numbers(_together(entry, special), {}))

    @router.get("/take/{what}.{kind}")
    async def take(
        key: str,
        what: str,
        kind: str,
        request: Request,
        layer: int = 0,
        token: int = 0,
        special: bool = True,
        center: str = "together",
        task: str = "",
    ) -> Response:
        """A result as a file, csv or npz."""
        entry = store.get(key)
        asked = _Asked(layer=layer, token=token, special=special, center=center, task=task)
        return await wanted(request, lambda: _file(entry, what, kind, asked))

    @router.get("/{what}")
    async def result(
        key: str,
        what: str,
        request: Request,
        layer: int = 0,
        token: int = 0,
        special: bool = True,
        center: str = "together",
        task: str = "",
    ) -> Response:
        """A result: its numbers as float32 with x-shape, or all of it as JSON where it is short."""
        entry = store.get(key)
        asked = _Asked(layer=layer, token=token, special=special, center=center, task=task)
        return await wanted(request, lambda: _drawn(measure_states(entry, what, **asked)))

    return router


def _together(entry: Entry, special: bool) -> Float[np.ndarray, "state token token"]:
    trace = entry.trace
    count = len(kept_tokens(trace, special))
    if count > MAX_TOGETHER:
        raise TooLong(
            f"This run has {count:,} such tokens; the matrices of all layers come together up to "
            f"{MAX_TOGETHER}. Ask for each layer's own."
        )
    layers = range(n_states(trace))
    return np.stack([token_similarity(trace, at, special=special).cosines for at in layers])


def _drawn(result: Result) -> Response:
    """What the browser draws of it."""
    match result:
        case TokenSimilarity():
            return _numbers(result.cosines, {"edges": result.edges.tolist()})
        case HiddenChange():
            none = np.full((1, len(result.tokens)), np.nan)  # no block comes before the embeddings
            moved = [np.concatenate([none, each]) for each in (result.cosines, result.changes)]
            return _numbers(np.stack([result.norms, *moved]), {})
        case ResidualChange():
            parts = result.attention, result.feed_forward
            shares = result.attention_shares, result.feed_forward_shares
            return _numbers(np.stack([*parts, *shares]), {"preNorm": result.pre_norm})
        case Projection():
            return _numbers(result.points, {"shares": result.shares.tolist()})
    content = {field.name: plain(getattr(result, field.name)) for field in fields(result)}
    return JSONResponse(content, headers=PRIVATE)


def _numbers(values: np.ndarray, about: dict[str, Any]) -> Response:
    """Numbers as bytes; what else is known of them stands in a header."""
    headers = {
        **PRIVATE,
        "x-shape": ",".join(map(str, values.shape)),
        "x-about": quote(json.dumps(about)),
    }
    content = np.ascontiguousarray(values, dtype="<f4").tobytes()
    return Response(content, media_type="application/octet-stream", headers=headers)


def _file(entry: Entry, what: str, kind: str, asked: _Asked) -> Response:
    if kind not in TABLES:
        raise SelectionError(f"There is no download {kind[:20]!r}; choose {', '.join(TABLES)}.")
    found, trace = measure_states(entry, what, **asked), entry.trace
    lines = state_lines(trace, found) if kind == "csv" else ()
    text = "".join(lines).encode("utf-8", "backslashreplace")
    headers = {
        "cache-control": "no-store",
        "content-disposition": f'attachment; filename="{what}.{kind}"',
        "x-content-type-options": "nosniff",
    }
    content = text if kind == "csv" else state_npz(trace, found)
    return Response(content, media_type=TABLES[kind], headers=headers)
