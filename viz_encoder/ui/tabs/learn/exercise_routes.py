"""Routes of the lesson: the exercises of a run in words, and a seat's own sentence."""

from typing import Any

from fastapi import APIRouter, Request, Response

from viz_encoder.errors import SelectionError
from viz_encoder.lesson.asked import Asked, asked_of
from viz_encoder.lesson.posed import exercises
from viz_encoder.lesson.seats import LAST_SEAT, seat
from viz_encoder.lesson.texts import FIRST, languages, texts_of
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Held, parse_index
from viz_encoder.ui.wire.concurrency import Places
from viz_encoder.ui.wire.errors import ErrorRoute

ROUTER = APIRouter(route_class=ErrorRoute)  # below the tab's own
PLACES = Places(2)


@ROUTER.get("/learn/seat")
def seat_route(seed: int) -> Response:
    """A seat's sentence, and where it looks first: from [MASK] to the word that decides."""
    one = seat(seed)
    return answers.plain(
        {"seed": one.number, "text": one.text, "rule": one.rule, "place": one.place}
    )


@ROUTER.get("/run/{run}/learn/exercises")
async def exercises_route(
    entry: Held,
    request: Request,
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

    def work() -> Response:
        asked = _asked(entry, place, seed)
        found = exercises(asked, step, language)
        where = {name: getattr(asked, name) for name in place}
        told = {"exercises": found, "place": where, "seed": seed, "language": language}
        named = [[code, texts_of(code).name] for code in languages()]
        return answers.plain({**told, "languages": named, "steps": texts_of(language).steps})

    return await PLACES.answer(request, work)


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
