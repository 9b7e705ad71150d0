"""Binary routes: the numbers of a run, as raw bytes with their shape in a header.

They stand beside Gradio's own routes, for a click must not wait in its queue, and a map must not
travel as JSON. A run is reached by its unguessable key alone.
"""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from PIL import Image

from viz_encoder.analyses.overview import overview, row
from viz_encoder.analyses.predictions import predictions
from viz_encoder.bundled import ASSETS
from viz_encoder.errors import SelectionError, VizEncoderError
from viz_encoder.trace import Trace
from viz_encoder.ui.store import Entry, TraceStore
from viz_encoder.ui.summary import printable

MAX_SIDE = 512  # cells a side of one answer: 1 MiB of float32
PRIVATE = {"cache-control": "private, max-age=3600"}
Head = int | str | tuple[int, ...]


def add_routes(app: FastAPI, store: TraceStore) -> None:
    """Serve the page's scripts and the numbers of the stored runs under /viz."""
    app.mount("/viz/static", StaticFiles(directory=ASSETS), name="viz-static")
    app.include_router(make_router(store))
    app.add_exception_handler(VizEncoderError, _plain_sentence)
    app.add_exception_handler(RequestValidationError, _wrong_parameter)


def make_router(store: TraceStore) -> APIRouter:
    """The routes of one store."""
    router = APIRouter(prefix="/viz/run/{key}")

    @router.get("/thumbnails")
    def thumbnails(key: str, layer: int, reduce: str = "max") -> Response:
        """One layer's heads as float32 "head row col"; NaN = masked, statistics in /statistics."""
        entry = store.get(key)
        _check_layer(entry.trace, layer)
        surveyed = entry.survey(layer)
        return _array(surveyed.thumbnails_mean if reduce == "mean" else surveyed.thumbnails_max)

    @router.get("/statistics")
    def statistics(key: str, layer: int) -> JSONResponse:
        """One layer's head statistics by name, a list with one number a head."""
        entry = store.get(key)
        _check_layer(entry.trace, layer)
        named = entry.survey(layer).statistics
        return JSONResponse({k: v.tolist() for k, v in named.items()}, headers=PRIVATE)

    @router.get("/map")
    def tile(
        key: str,
        layer: int,
        head: str,
        rows: str = "0:",
        keys: str = "0:",
        hide: bool = False,
        size: int = MAX_SIDE,
    ) -> Response:
        """A part of one map, float32 "query key", pooled by max where it has more than size."""
        trace = store.get(key).trace
        _check_layer(trace, layer)
        kept = visible(trace, hide)
        part = overview(
            trace,
            layer,
            parse_head(head, trace),
            rows=_slice(rows, len(kept)),
            keys=_slice(keys, len(kept)),
            size=min(max(1, size), MAX_SIDE),
            tokens=kept if hide else None,
        )
        return _array(part.values, step=f"{part.row_step},{part.key_step}")

    @router.get("/row")
    def exact_row(key: str, layer: int, head: str, query: int) -> Response:
        """One query's weights over all keys, float32, exact; NaN = masked."""
        trace = store.get(key).trace
        _check_layer(trace, layer)
        if not 0 <= query < trace.n_tokens:
            raise SelectionError(f"There is no query {query}; choose 0 to {trace.n_tokens - 1}.")
        return _array(row(trace, layer, parse_head(head, trace), query))

    @router.get("/proof")
    def proof(key: str) -> JSONResponse:
        """Whether the maps are the ones that ran, in a sentence."""
        found = store.get(key).trace.proof
        return JSONResponse(
            {
                "passed": found.passed,
                "checked": found.checked,
                "sentence": found.sentence,
                "error": found.error,
            },
            headers=PRIVATE,
        )

    @router.get("/predictions")
    def predicted(key: str, task: str = "", layer: int | None = None) -> JSONResponse:
        """What the model's head says of the output, or after a layer: a list of guesses."""
        return JSONResponse(guesses(store.get(key), task, layer), headers=PRIVATE)

    @router.get("/picture.png")
    def picture(key: str) -> Response:
        """The picture as it was cut into patches."""
        pixels = store.get(key).trace.sample.picture
        if pixels is None:
            raise SelectionError("This run is of a text; it has no picture.")
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, "PNG")
        return Response(buffer.getvalue(), media_type="image/png", headers=PRIVATE)

    return router


def guesses(entry: Entry, task: str, layer: int | None) -> list[dict[str, Any]]:
    """The predictions of a run, ten labels each, as plain data."""
    if entry.encoder is None:
        raise SelectionError("The model of this run is not here, so its heads cannot be asked.")
    found = predictions(entry.encoder, entry.trace, task=task, layer=layer)
    return [
        {
            "token": guess.token,
            "labels": [printable(label) for label in guess.labels],
            "shares": guess.shares.tolist(),
            "unit": guess.unit,
        }
        for guess in found
    ]


def parse_head(head: str, trace: Trace) -> Head:
    """A head's number, "mean", "max", or several numbers joined by commas."""
    if head in ("mean", "max"):
        return head
    try:
        numbers = tuple(dict.fromkeys(int(part) for part in head.split(",")))
    except ValueError:
        raise SelectionError(
            f"There is no head {head!r}; choose 0 to {trace.n_heads - 1}, mean or max."
        ) from None
    for number in numbers:
        if not 0 <= number < trace.n_heads:
            raise SelectionError(
                f"There is no head {number}; this run has heads 0 to {trace.n_heads - 1}."
            )
    return numbers[0] if len(numbers) == 1 else numbers


def visible(trace: Trace, hide_special: bool) -> Sequence[int]:
    """The tokens to show, all of them or all but the special ones."""
    if not hide_special:
        return range(trace.n_tokens)
    return [index for index, special in enumerate(trace.sample.special) if not special]


def _slice(text: str, count: int) -> slice:
    start, _, stop = text.partition(":")
    try:
        first, last = int(start or 0), int(stop or count)
    except ValueError:
        raise SelectionError(f"{text!r} is no range of tokens; write it as 0:{count}.") from None
    if not 0 <= first < last <= count:
        raise SelectionError(f"{text!r} is not within this run's {count} tokens.")
    return slice(first, last)


def _check_layer(trace: Trace, layer: int) -> None:
    if not 0 <= layer < trace.n_layers:
        raise SelectionError(
            f"There is no layer {layer}; this run has layers 0 to {trace.n_layers - 1}."
        )


def _array(values: np.ndarray, step: str = "1,1") -> Response:
    headers = {**PRIVATE, "x-shape": ",".join(map(str, values.shape)), "x-step": step}
    content = np.ascontiguousarray(values, dtype="<f4").tobytes()
    return Response(content, media_type="application/octet-stream", headers=headers)


async def _plain_sentence(_: Request, fault: Exception) -> JSONResponse:
    return JSONResponse(
        {"message": str(fault)}, status_code=404, headers={"cache-control": "no-store"}
    )


async def _wrong_parameter(_: Request, fault: Exception) -> JSONResponse:
    assert isinstance(fault, RequestValidationError)
    first = fault.errors()[0]
    message = f"{first['loc'][-1]} is {first['input']!r}: {first['msg'].lower()}."
    return JSONResponse(
        {"message": message}, status_code=422, headers={"cache-control": "no-store"}
    )
