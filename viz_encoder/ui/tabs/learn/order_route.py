"""Two words swapped, with positions and without; and one hidden, by what it does to a state."""

from typing import Any

import torch
from fastapi import APIRouter, Request, Response

from viz_encoder.effects.word_order import word_order
from viz_encoder.errors import SelectionError
from viz_encoder.trace.capture import capture
from viz_encoder.ui.state.changed import runnable
from viz_encoder.ui.state.recipe import ONE_PASS
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Held, Query, parse_index
from viz_encoder.ui.wire.bytes import FRESH
from viz_encoder.ui.wire.concurrency import Places
from viz_encoder.ui.wire.errors import ErrorRoute

ROUTER = APIRouter(route_class=ErrorRoute)  # below the tab's own
PLACES = Places(1)


@ROUTER.get("/run/{run}/learn/order")
async def order_route(entry: Held, query: Query, key: int, request: Request) -> Response:
    """The query's outputs, two and two, and how far all of them moved; or a message."""
    return await PLACES.answer(request, lambda: answers.plain(_told(entry, query, key), FRESH))


def _told(entry: Entry, query: int, key: int) -> dict[str, Any]:
    try:
        encoder, inputs = runnable(entry)
        with ONE_PASS:
            found = word_order(encoder, inputs, query, key)
    except SelectionError as fault:
        return {"message": str(fault)}
    at = min(query, found.vectors.shape[2] - 1)
    vectors = found.vectors[:, :, at].astype(float).round(6)
    return {"one": found.one, "two": found.two, "vectors": vectors.tolist(), "apart": found.apart}


@ROUTER.get("/run/{run}/learn/turned")
async def turned_route(entry: Held, query: Query, key: int, request: Request) -> Response:
    """How far the query's state turns after each block (1 - cosine) if the key is hidden."""
    return await PLACES.answer(request, lambda: answers.plain(_turned(entry, query, key), FRESH))


def _turned(entry: Entry, query: int, key: int) -> dict[str, Any]:
    try:
        encoder, inputs = runnable(entry)
        n = entry.trace.n_tokens
        allowed = torch.ones(n, n, dtype=torch.bool)
        allowed[:, parse_index("key", key, n)] = False
        with ONE_PASS:
            whole, without = (capture(encoder, inputs, mask=mask)[0] for mask in (None, allowed))
    except SelectionError as fault:
        return {"message": str(fault)}
    turned = []
    for at in range(whole.n_layers + 1):
        one, two = (run.hidden(at)[query].double() for run in (whole, without))
        turned.append(1 - float(torch.cosine_similarity(one, two, dim=0)))
    return {"turned": turned}
