"""Binary routes: the numbers of a run, as raw bytes with their shape in a header.

They stand beside Gradio's own routes, for a click must not wait in its queue, and a map must not
travel as JSON. A run is reached by its unguessable key alone.
"""

import io
from collections.abc import Sequence
from reprlib import repr as shown  # cut short: a client may send anything, of any length
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from PIL import Image

from viz_encoder.analyses.overview import Tile, overview, row, shown_tokens
from viz_encoder.analyses.predictions import predictions
from viz_encoder.errors import SelectionError
from viz_encoder.trace import Trace
from viz_encoder.ui.state.run_description import printable
from viz_encoder.ui.state.store import Entry, TraceStore
from viz_encoder.ui.wire.error_route import PlainRoute, sentence
from viz_encoder.ui.wire.numbers import finite, parse_head, parse_index, parse_range

MAX_SIDE = 512  # cells a side of one answer: 1 MiB of float32
PRIVATE = {"cache-control": "private, max-age=3600"}
REDUCTIONS = ("max", "mean")


def make_router(store: TraceStore) -> APIRouter:
    """The routes of one store."""
    router = APIRouter(prefix="/viz/run/{key}", route_class=PlainRoute)

    @router.get("/thumbnails")
    def thumbnails(key: str, layer: int, reduce: str = "max") -> Response:
        """One layer's heads as float32 "head row col"; NaN = masked, statistics in /statistics."""
        entry = store.get(key)
        parse_index("layer", layer, entry.trace.n_layers)
        if reduce not in REDUCTIONS:
            raise SelectionError(f"There is no reduction {shown(reduce)}; choose max or mean.")
        surveyed = entry.survey(layer)
        return _array(surveyed.thumbnails_mean if reduce == "mean" else surveyed.thumbnails_max)

    @router.get("/statistics")
    def statistics(key: str, layer: int) -> JSONResponse:
        """One layer's head statistics by name, a number a head; null where there is none."""
        entry = store.get(key)
        parse_index("layer", layer, entry.trace.n_layers)
        named = entry.survey(layer).statistics
        return JSONResponse({k: finite(v) for k, v in named.items()}, headers=PRIVATE)

    @router.get("/map")
    def tile(
        key: str,
        layer: int,
        head: str,
        rows: str = "0:",
        keys: str = "0:",
        hide: bool = False,
        renorm: bool = False,
        words: bool = False,
        size: int = MAX_SIDE,
        tops: bool = False,
    ) -> Response:
        """A part of one map, float32 "query key", pooled by max where it has more than size.

        hide, renorm and words say which tokens are kept, renormalized and merged. x-total is the
        part's whole weight, x-empty how many of its queries have none at all; with tops, each
        row's largest weight on any kept key follows the cells.
        """
        trace = store.get(key).trace
        parse_index("layer", layer, trace.n_layers)
        kept = shown_tokens(trace, special=not hide, words=words)
        part = overview(
            trace,
            layer,
            parse_head(head, trace),
            rows=parse_range(rows, len(kept)),
            keys=parse_range(keys, len(kept)),
            size=min(max(1, size), MAX_SIDE),
            tokens=kept if hide or words else None,
            renormalize=renorm,
        )
        return _tile(part, tops)

    @router.get("/row")
    def exact_row(
        key: str,
        layer: int,
        head: str,
        query: int,
        hide: bool = False,
        renorm: bool = False,
        words: bool = False,
    ) -> Response:
        """One query's weights over all kept keys, float32, exact; NaN = masked.

        With words, the mean over all queries of its word, and a weight for each word.
        """
        trace = store.get(key).trace
        parse_index("layer", layer, trace.n_layers)
        parse_index("query", query, trace.n_tokens)
        kept = shown_tokens(trace, special=not hide, words=words)
        together = shown_tokens(trace, words=words)
        merged = next(entry for entry in together if query in entry)
        chosen = parse_head(head, trace)
        return _array(row(trace, layer, chosen, merged, tokens=kept, renormalize=renorm))

    @router.get("/proof")
    def proof(key: str) -> JSONResponse:
        """Whether the maps are the ones that ran, in a sentence."""
        found = store.get(key).trace.proof
        return JSONResponse(
            {
                "passed": found.passed,
                "checked": found.checked,
                "sentence": found.sentence,
                "error": None if found.error is None else finite(found.error),
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
            "shares": finite(guess.shares),
            "unit": guess.unit,
        }
        for guess in found
    ]


def visible(trace: Trace, hide_special: bool) -> Sequence[int]:
    """The tokens to show, all of them or all but the special ones."""
    if not hide_special:
        return range(trace.n_tokens)
    return [index for index, special in enumerate(trace.sample.special) if not special]


def _tile(part: Tile, tops: bool) -> Response:
    answer = _array(part.values, f"{part.row_step},{part.key_step}", part.row_tops if tops else ())
    answer.headers.update({"x-total": repr(part.total), "x-empty": str(part.empty)})
    return answer


def _array(values: np.ndarray, step: str = "1,1", more: Any = ()) -> Response:
    """Numbers as bytes, with their shape in a header; `more` follows them."""
    headers = {**PRIVATE, "x-shape": ",".join(map(str, values.shape)), "x-step": step}
    content = b"".join(np.ascontiguousarray(part, dtype="<f4").tobytes() for part in (values, more))
    return Response(content, media_type="application/octet-stream", headers=headers)


async def plain_sentence(_: Request, fault: Exception) -> JSONResponse:
    """A fault of the request as its sentence."""
    return sentence(str(fault), 404)


async def wrong_parameter(_: Request, fault: Exception) -> JSONResponse:
    """A parameter that FastAPI refused, as a sentence."""
    assert isinstance(fault, RequestValidationError)
    first = fault.errors()[0]
    return sentence(f"{first['loc'][-1]} is {shown(first['input'])}: {first['msg'].lower()}.", 422)
