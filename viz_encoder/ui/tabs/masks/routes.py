"""Masks of a run: presets, files, runs with a mask, their maps, reach and code, by its key."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from viz_encoder.analyses.mask_panels import mask_panels
from viz_encoder.audit.measure.empty_rows import empty_rows
from viz_encoder.errors import InputError
from viz_encoder.ui.state.mask_mistake import Mistake
from viz_encoder.ui.state.store import TraceStore
from viz_encoder.ui.tabs.masks import requests as requests
from viz_encoder.ui.tabs.masks.masked_runs import (
    MODEL_GONE,
    description,
    masked_of,
    plain_of,
    reach_of,
    result_of,
    run_masked,
)
from viz_encoder.ui.wire.concurrency import Places
from viz_encoder.ui.wire.numbers import parse_head, parse_index

FRESH = {"cache-control": "no-store"}


def make_mask_router(
    store: TraceStore, route_class: type[Any], array: Callable[[np.ndarray], Response]
) -> APIRouter:
    """The routes of one store, under /viz/run/{key}/mask; masks travel as packed bits."""
    router = APIRouter(prefix="/viz/run/{key}/mask", route_class=route_class)
    wanted = Places(1).answer

    def size(key: str) -> int:
        return requests.require_size(store.get(key).trace.n_tokens)

    @router.get("/offered")
    def offered(key: str) -> JSONResponse:
        """What can be chosen; and of a run with a mask, the run without it and its mask's name."""
        entry = store.get(key)
        missing = MODEL_GONE if entry.encoder is None or entry.inputs is None else ""
        plain = None if entry.masked is None else description(*plain_of(store, key))
        return JSONResponse({**requests.offered(), "missing": missing, "plain": plain}, 200, FRESH)

    @router.get("/intent")
    def intent(key: str) -> Response:
        """The mask that was meant with a run, as bits."""
        return _bits(masked_of(store.get(key)).intent)

    @router.post("/preset")
    async def preset(key: str, request: Request) -> Response:
        """The mask of a preset, named as JSON, as bits."""
        content = await requests.body_of(request, requests.MAX_JSON, "What was sent")
        n_tokens, given = size(key), _json(content)
        return await run_in_threadpool(lambda: _bits(requests.made_by(given, n_tokens)))

    @router.post("/upload")
    async def upload(key: str, request: Request, name: str, convention: str) -> Response:
        """The mask in a .npy or .csv file, as bits."""
        n_tokens = size(key)
        content = await requests.body_of(request, requests.file_bytes(n_tokens), "The file")
        return await wanted(
            request, lambda: _bits(requests.from_file(content, name, convention, n_tokens))
        )

    @router.post("/run")
    async def run(key: str, request: Request, mistake: str = Mistake.NONE) -> Response:
        """Run the same input with a mask; what it did, and the new run's description."""
        n_tokens = size(key)
        bits = await requests.body_of(request, requests.n_bytes(n_tokens), "The mask")
        mask, planted = requests.unpacked(bits, n_tokens), Mistake(mistake)

        def work() -> Response:
            made = run_masked(store, key, mask, planted)
            return JSONResponse(result_of(store, made), 200, FRESH)

        return await wanted(request, work)

    @router.get("/result")
    async def result(key: str, request: Request) -> Response:
        """The same of a run that is held."""
        return await wanted(request, lambda: JSONResponse(result_of(store, key), 200, FRESH))

    @router.get("/panels")
    async def panels(key: str, layer: int, head: str, request: Request) -> Response:
        """Intended, passed, observed and leaking, float32 "panel query key"."""
        trace, meant = store.get(key).trace, masked_of(store.get(key)).intent
        place = parse_index("layer", layer, trace.n_layers), parse_head(head, trace)

        def work() -> Response:
            found = mask_panels(trace, meant, *place)
            parts = found.intended, found.passed, found.observed, found.leaking
            return array(np.stack([part.astype(np.float32) for part in parts]))

        return await wanted(request, work)

    @router.post("/reach")
    async def reach(key: str, request: Request) -> Response:
        """Whom each token can know of after each layer, bits "layer query key"."""
        n_tokens = size(key)
        bits = await requests.body_of(request, requests.n_bytes(n_tokens), "The mask")
        mask = requests.unpacked(bits, n_tokens)
        return await wanted(request, lambda: _bits(reach_of(store, key, mask)))

    @router.post("/snippet")
    async def snippet(key: str, request: Request, kind: str, made: str = "null") -> Response:
        """The lines of Python that give this mask to a call; `made` names its preset as JSON."""
        n_tokens = size(key)
        bits = await requests.body_of(request, requests.n_bytes(n_tokens), "The mask")
        mask, given = requests.unpacked(bits, n_tokens), _json(made.encode())
        code = await run_in_threadpool(lambda: requests.code_of(mask, kind, given))
        return Response(code, media_type="text/plain; charset=utf-8", headers=FRESH)

    @router.get("/empty")
    async def empty(key: str, request: Request) -> Response:
        """What each way of computing attention gives a row without any key, tried now."""
        store.get(key)
        return await wanted(
            request,
            lambda: JSONResponse([{"way": r.way, "words": r.words} for r in empty_rows()], 200),
        )

    return router


def _bits(mask: Any) -> Response:
    headers = {**FRESH, "x-shape": ",".join(map(str, mask.shape))}
    content = requests.packed_bits(mask)
    return Response(content, media_type="application/octet-stream", headers=headers)


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise InputError("What was sent is no JSON.") from None
