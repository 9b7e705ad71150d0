"""Routes of the Learn tab: numbers of tokens, exercises, word order, what carried the answer."""

from collections.abc import Callable
from typing import Any

import torch
from fastapi import APIRouter, Response

from viz_encoder.attribution import Attribution
from viz_encoder.effects.word_order import word_order
from viz_encoder.errors import SelectionError
from viz_encoder.lesson.asked import Asked, asked_of
from viz_encoder.lesson.posed import exercises
from viz_encoder.lesson.seats import LAST_SEAT, seat
from viz_encoder.lesson.texts import FIRST
from viz_encoder.trace.capture import capture
from viz_encoder.ui.state.attributed import runnable
from viz_encoder.ui.state.recipe import ONE_PASS
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.tabs.learn import build_routes
from viz_encoder.ui.tabs.learn.token_numbers import NumbersAsked, positions, token_numbers
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Held, Layer, Query, parse_index
from viz_encoder.ui.wire.bytes import FRESH, finite
from viz_encoder.ui.wire.concurrency import Places
from viz_encoder.ui.wire.errors import ErrorRoute

ROUTER = APIRouter(prefix="/viz", route_class=ErrorRoute)
ROUTER.include_router(build_routes.ROUTER)
PLACES = Places(2)  # answers that are computed at the same time
ONE_PLACE = Places(1)  # for what runs the model


@ROUTER.get("/run/{run}/learn/token")
@PLACES
def token_route(
    entry: Held, layer: Layer, query: Query, head: int = 0, key: int = 0, dim: int = 0
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
    return answers.plain(token_numbers(entry, asked))


@ROUTER.get("/run/{run}/learn/positions")
@PLACES
def positions_route(entry: Held) -> Response:
    """The vectors that are added for the first positions, float32 "token d_model"."""
    return answers.array(positions(entry))


@ROUTER.get("/run/{run}/learn/outputs")
@PLACES
def outputs_route(entry: Held) -> Response:
    """The output of every token, float32 "token d_model", from which a pooling is worked out."""
    return answers.array(entry.trace.output.float().cpu().numpy())


@ROUTER.get("/run/{run}/learn/carried")
@ONE_PLACE
def carried_route(entry: Held, query: Query) -> Response:
    """The score's shares and the twin's; {} where nothing may run again."""
    return answers.plain(_carried(entry, query), FRESH)


def _carried(entry: Entry, query: int) -> dict[str, Any]:
    asked = asked_of(entry.weights, entry.inputs, entry.trace, query=query, plain=entry.plain)
    contrast = asked.contrast
    if contrast is None or contrast.carried is None:
        return {}
    answer, rival = contrast.said
    told: dict[str, Any] = {"answer": answer, "rival": rival, "twin": None}
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


@ROUTER.get("/run/{run}/learn/order")
@ONE_PLACE
def order_route(entry: Held, query: Query, key: int) -> Response:
    """The query's outputs, two and two, and how far all of them moved; or a message."""
    return _or_message(lambda: _order(entry, query, key))


def _order(entry: Entry, query: int, key: int) -> dict[str, Any]:
    encoder, inputs = runnable(entry)
    with ONE_PASS:
        found = word_order(encoder, inputs, query, key)
    at = min(query, found.vectors.shape[2] - 1)
    vectors = found.vectors[:, :, at].astype(float).round(6)
    return {"one": found.one, "two": found.two, "vectors": vectors.tolist(), "apart": found.apart}


@ROUTER.get("/run/{run}/learn/turned")
@ONE_PLACE
def turned_route(entry: Held, query: Query, key: int) -> Response:
    """How far the query's state turns after each block (1 - cosine) if the key is hidden."""
    return _or_message(lambda: _turned(entry, query, key))


def _turned(entry: Entry, query: int, key: int) -> dict[str, Any]:
    encoder, inputs = runnable(entry)
    n = entry.trace.n_tokens
    allowed = torch.ones(n, n, dtype=torch.bool)
    allowed[:, parse_index("key", key, n)] = False
    with ONE_PASS:
        whole, without = (capture(encoder, inputs, mask=mask)[0] for mask in (None, allowed))
    turned = []
    for at in range(whole.n_layers + 1):
        one, two = (run.hidden(at)[query].double() for run in (whole, without))
        turned.append(1 - float(torch.cosine_similarity(one, two, dim=0)))
    return {"turned": turned}


def _or_message(make: Callable[[], dict[str, Any]]) -> Response:
    try:
        return answers.plain(make(), FRESH)
    except SelectionError as fault:
        return answers.plain({"message": str(fault)}, FRESH)


@ROUTER.get("/learn/seat")
def seat_route(seed: int) -> Response:
    """A seat's sentence, and where it looks first: from [MASK] to the word that decides."""
    one = seat(seed)
    return answers.plain({"text": one.text, "place": one.place})


@ROUTER.get("/run/{run}/learn/exercises")
@PLACES
def exercises_route(
    entry: Held,
    step: int | None = None,
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
    key: int | None = None,
    seed: int = 0,
    language: str = FIRST,
) -> Response:
    """The exercises of one step, or of all; what is not chosen is where the lesson looks."""
    place = {"layer": layer, "head": head, "query": query, "key": key}
    return answers.plain({"exercises": exercises(_asked(entry, place, seed), step, language)})


def _asked(entry: Entry, place: dict[str, int | None], seed: int) -> Asked:
    """The run and the place in it, if they are there."""
    trace = entry.trace
    counts: dict[str, Any] = {
        "layer": trace.n_layers,
        "head": trace.n_heads,
        "query": trace.n_tokens,
        "key": trace.layers[0].k.shape[1],
    }
    chosen = {
        name: parse_index(name, value, counts[name])
        for name, value in place.items()
        if value is not None
    }
    if seed not in range(LAST_SEAT + 1):
        raise SelectionError(f"There is no seat {seed}; choose 0 (none) to {LAST_SEAT}.")
    return asked_of(entry.weights, entry.inputs, trace, seat=seed, plain=entry.plain, **chosen)
