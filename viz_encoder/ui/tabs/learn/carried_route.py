"""The route of what carried the answer: its shares, here and in the twin."""

from typing import Any

from fastapi import APIRouter, Request, Response

from viz_encoder.attribution import Attribution
from viz_encoder.lesson.asked import asked_of
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Held, Query
from viz_encoder.ui.wire.bytes import FRESH, finite
from viz_encoder.ui.wire.concurrency import Places
from viz_encoder.ui.wire.errors import ErrorRoute

ROUTER = APIRouter(route_class=ErrorRoute)  # below the tab's own
PLACES = Places(1)


@ROUTER.get("/run/{run}/learn/carried")
async def carried_route(entry: Held, query: Query, request: Request) -> Response:
    """The score's shares and the twin's; {} where nothing may run again."""
    return await PLACES.answer(request, lambda: answers.plain(_told(entry, query), FRESH))


def _told(entry: Entry, query: int) -> dict[str, Any]:
    asked = asked_of(entry.weights, entry.inputs, entry.trace, query=query, plain=entry.plain)
    contrast = asked.contrast
    if contrast is None or contrast.carried is None:
        return {}
    told: dict[str, Any] = {"answer": asked.answer, "rival": contrast.rival, "twin": None}
    twin, there = contrast.twin, contrast.carried_in_twin
    if twin is not None and there is not None:
        told["twin"] = {"at": twin.at, "word": twin.word, **_shares(there)}
    return {**told, **_shares(contrast.carried)}


def _shares(found: Attribution) -> dict[str, Any]:
    return {
        "score": finite(found.score),
        "shares": finite(found.tokens),
        "biases": finite(found.biases),
    }
