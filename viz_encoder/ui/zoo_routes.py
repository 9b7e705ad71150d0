"""Routes of the mask zoo: its specimens, and the audit of one; they need no run."""

import asyncio
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from viz_encoder.ui.zoo_audits import Audits, zoo

GIVEN_UP = 499  # nobody reads it
FRESH = {"cache-control": "no-store"}
AUDITS = Audits()


def make_zoo_router(route_class: type[Any]) -> APIRouter:
    """The routes under /viz/zoo; nothing of a stranger's is ever run."""
    router = APIRouter(prefix="/viz/zoo", route_class=route_class)
    places = asyncio.Semaphore(1)

    @router.get("")
    def specimens() -> JSONResponse:
        """The specimens by section, and how to audit one's own model."""
        return JSONResponse(zoo(), headers=FRESH)

    @router.get("/{identifier}")
    async def audit(
        identifier: str, request: Request, fixed: bool = False, seed: int = 0
    ) -> Response:
        """The audit of a specimen with its pictures, unless whoever asked went away meanwhile."""
        async with places:
            if await request.is_disconnected():
                return Response(status_code=GIVEN_UP)
            found = await run_in_threadpool(AUDITS.of, identifier, fixed, seed)
        return JSONResponse(found, headers=FRESH)

    return router
