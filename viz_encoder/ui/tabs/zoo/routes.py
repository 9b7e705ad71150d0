"""Routes of the mask zoo: its specimens, and the audit of one; they need no run."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from viz_encoder.ui.tabs.zoo.results import Audits, zoo
from viz_encoder.ui.wire.concurrency import Places

FRESH = {"cache-control": "no-store"}
AUDITS = Audits()


def make_zoo_router(route_class: type[Any]) -> APIRouter:
    """The routes under /viz/zoo; nothing of a stranger's is ever run."""
    router = APIRouter(prefix="/viz/zoo", route_class=route_class)
    places = Places(1)

    @router.get("")
    def specimens() -> JSONResponse:
        """The specimens by section, and how to audit one's own model."""
        return JSONResponse(zoo(), headers=FRESH)

    @router.get("/{identifier}")
    async def audit(
        identifier: str, request: Request, fixed: bool = False, seed: int = 0
    ) -> Response:
        """The audit of a specimen with its pictures, unless whoever asked went away meanwhile."""
        return await places.answer(
            request, lambda: JSONResponse(AUDITS.of(identifier, fixed, seed), headers=FRESH)
        )

    return router
