"""Routes of the Learn tab: one token's numbers, all positions, and all outputs."""

from fastapi import APIRouter, Request, Response

from viz_encoder.ui.tabs.learn import (
    build_routes,
    carried_route,
    exercise_routes,
    order_route,
)
from viz_encoder.ui.tabs.learn.token_numbers import NumbersAsked, positions, token_numbers
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Held, Layer, Query, parse_index
from viz_encoder.ui.wire.concurrency import Places
from viz_encoder.ui.wire.errors import ErrorRoute

ROUTER = APIRouter(prefix="/viz", route_class=ErrorRoute)
ROUTER.include_router(build_routes.ROUTER)
ROUTER.include_router(carried_route.ROUTER)
ROUTER.include_router(exercise_routes.ROUTER)
ROUTER.include_router(order_route.ROUTER)
PLACES = Places(2)  # answers that are computed at the same time


@ROUTER.get("/run/{run}/learn/token")
async def token_route(
    entry: Held,
    layer: Layer,
    query: Query,
    request: Request,
    head: int = 0,
    key: int = 0,
    dim: int = 0,
) -> Response:
    """Embedding, projection, attention, heads, stages and feed-forward units of one token."""
    ran = entry.trace.layers[layer]
    asked = NumbersAsked(
        layer,
        parse_index("head", head, ran.n_heads),
        query,
        parse_index("key", key, ran.k.shape[1]),
        parse_index("dimension", dim, max(1, ran.v.shape[2])),
    )
    return await PLACES.answer(request, lambda: answers.plain(token_numbers(entry, asked)))


@ROUTER.get("/run/{run}/learn/positions")
async def positions_route(entry: Held, request: Request) -> Response:
    """The vectors that are added for the first positions, float32 "token d_model"."""
    return await PLACES.answer(request, lambda: answers.array(positions(entry)))


@ROUTER.get("/run/{run}/learn/outputs")
async def outputs_route(entry: Held, request: Request) -> Response:
    """The output of every token, float32 "token d_model", from which a pooling is worked out."""
    return await PLACES.answer(
        request, lambda: answers.array(entry.trace.output.float().cpu().numpy())
    )
