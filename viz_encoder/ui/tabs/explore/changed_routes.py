"""Routes of changed runs: what was changed, its proof, and effects of words and over many texts."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import StreamingResponse

from viz_encoder.errors import Expired, InputError, SelectionError
from viz_encoder.ui.state.attributed import PURPOSE, outcome_of, runnable
from viz_encoder.ui.state.recipe import as_changes
from viz_encoder.ui.tabs.explore import head_effects as effects
from viz_encoder.ui.tabs.explore.outcomes import flips_plain, offered, outcome_plain, proof_plain
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Held, Runs
from viz_encoder.ui.wire.body_limits import body_of, json_object
from viz_encoder.ui.wire.bytes import FRESH
from viz_encoder.ui.wire.concurrency import Places, progress_lines
from viz_encoder.ui.wire.errors import ErrorRoute, sentence

OF_CHANGES = APIRouter(prefix="/whatif", route_class=ErrorRoute)
MOST_JSON = 2**16
MOST_TEXTS = 2**19
PLACES = Places(1)
SWEEPING = Places(1)  # effects of all heads keep a processor busy: one at a time


async def _plain(entry: Held) -> tuple[Any, Any]:
    return runnable(entry)


PlainRun = Annotated[tuple[Any, Any], Depends(_plain)]  # the model, and inputs without changes


@OF_CHANGES.get("/offered")
async def offered_route(entry: Held, request: Request) -> Response:
    """Why nothing can be changed, or measured."""
    return await PLACES.answer(request, lambda: answers.plain(offered(entry)))


@OF_CHANGES.post("/changed")
async def changed_route(run: str, entry: Held, runs: Runs, request: Request) -> Response:
    """Run the same input with these changes; the new run's description, and the plain one's.

    A change that cannot be made is refused with 422; with "told": true its sentence is the answer,
    as the page asks for it, since browsers report refusals as errors.
    """
    sent = json_object(await body_of(request, MOST_JSON, "What was sent"))
    codes = sent.get("changes")
    if not isinstance(codes, list):
        raise InputError('Send the changes as a list of codes, such as {"changes": ["h3.0"]}.')

    def work() -> Response:
        try:
            made = runs.rerun(run, PURPOSE, changes=as_changes(codes))
            plain = runs.rerun(run, PURPOSE, changes=())
        except Expired:
            raise
        except SelectionError as fault:
            told = sent.get("told") is True
            return answers.plain({"message": str(fault)}, FRESH) if told else _refused(fault)
        return answers.plain({"run": runs.again(made), "plain": runs.again(plain)}, FRESH)

    return await PLACES.answer(request, work)


@OF_CHANGES.get("/said")
async def said_route(entry: Held, request: Request, changes: str = "") -> Response:
    """What changes did to the output: those of this run, or any others."""

    def work() -> Response:
        try:
            codes = as_changes(changes.split(",")) if changes else None
            return answers.plain(outcome_plain(outcome_of(entry, codes)))
        except Expired:
            raise
        except SelectionError as fault:
            return _refused(fault)

    return await PLACES.answer(request, work)


@OF_CHANGES.get("/proof")
async def proof_route(entry: Held, request: Request) -> Response:
    """That the heads of a changed run were removed, and nothing else was."""
    return await PLACES.answer(request, lambda: answers.plain(proof_plain(entry)))


@OF_CHANGES.get("/heads")
async def heads_route(
    plain: PlainRun, runs: Runs, request: Request, measure: str = "", how: str = "zero"
) -> StreamingResponse:
    """The effect of removing each head, as lines of JSON."""
    return progress_lines(
        lambda tell: effects.head_effects(*plain, measure, how, tell),
        *(SWEEPING, request, runs.limits),
    )


@OF_CHANGES.get("/tokens")
async def tokens_route(
    plain: PlainRun,
    runs: Runs,
    request: Request,
    measure: str = "",
    how: str = "attention",
    answer: str = "",
    at: int | None = None,
) -> StreamingResponse:
    """The effect of taking each token away, as lines of JSON."""
    asked = effects.TokenChoice(measure, how, answer, at)
    return progress_lines(
        lambda tell: effects.token_effects(*plain, asked, tell), SWEEPING, request, runs.limits
    )


@OF_CHANGES.get("/flips")
async def flips_route(
    plain: PlainRun, runs: Runs, request: Request, most: int = 3
) -> StreamingResponse:
    """The fewest tokens whose hiding changes the answer, as lines of JSON."""
    return progress_lines(
        lambda tell: flips_plain(*plain, most, tell), SWEEPING, request, runs.limits
    )


@OF_CHANGES.post("/texts")
async def texts_route(plain: PlainRun, runs: Runs, request: Request) -> StreamingResponse:
    """The mean effect of removing each head over several texts, as lines of JSON."""
    sent = json_object(await body_of(request, MOST_TEXTS, "The texts"))
    texts, how = sent.get("texts"), sent.get("how", "zero")
    measure = sent.get("measure", "")
    if not isinstance(texts, list) or not isinstance(how, str) or not isinstance(measure, str):
        raise InputError('Send the texts as a list: {"texts": ["…", "…"]}.')
    return progress_lines(
        lambda tell: effects.over_texts(plain[0], texts, measure, how, tell, sent.get("lines")),
        *(SWEEPING, request, runs.limits),
    )


def _refused(fault: SelectionError) -> Response:
    return sentence(str(fault), 422)
