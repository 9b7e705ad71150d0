"""The route of pre-norm beside post-norm, in two untrained encoders that read this run's tokens."""

from dataclasses import asdict

from fastapi import APIRouter, Request, Response

from viz_encoder.lesson.placement import DEPTHS, by_depth
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Held, Query
from viz_encoder.ui.wire.concurrency import Places
from viz_encoder.ui.wire.errors import ErrorRoute

ROUTER = APIRouter(route_class=ErrorRoute)  # below the tab's own
PLACES = Places(1)


@ROUTER.get("/run/{run}/learn/placement")
async def placement_route(
    entry: Held, query: Query, request: Request, residual: bool = True, norm: bool = True
) -> Response:
    """The query's state by depth: its length, what is left of the embedding, how alike all are."""

    def work() -> Response:
        tokens = entry.trace.tokens
        both = {
            placement: asdict(by_depth(tokens, query, placement, residual=residual, norm=norm))
            for placement in ("pre", "post")
        }
        return answers.plain({"depths": DEPTHS, **both})

    return await PLACES.answer(request, work)
