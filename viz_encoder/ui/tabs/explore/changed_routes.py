"""Routes of changed runs: what was changed, its proof, and effects of words and over many texts."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response

from viz_encoder.arguments import Progress
from viz_encoder.errors import Expired, InputError, SelectionError
from viz_encoder.ui.state.attributed import PURPOSE, outcome_of, runnable
from viz_encoder.ui.state.recipe import as_changes
from viz_encoder.ui.tabs.explore import head_effects as effects
from viz_encoder.ui.tabs.explore.outcomes import flips_plain, offered, outcome_plain, proof_plain
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Held, Runs
from viz_encoder.ui.wire.body_limits import json_object, sent
from viz_encoder.ui.wire.bytes import FRESH
from viz_encoder.ui.wire.concurrency import Places, Plain
from viz_encoder.ui.wire.errors import ErrorRoute, sentence

OF_CHANGES = APIRouter(prefix="/whatif", route_class=ErrorRoute)
MOST_JSON = 2**16
MOST_TEXTS = 2**19
PLACES = Places(1)
SWEEPING = Places(1)  # effects of all heads keep a processor busy: one at a time


async def _plain(entry: Held) -> tuple[Any, Any]:
    return runnable(entry)


PlainRun = Annotated[tuple[Any, Any], Depends(_plain)]  # the model, and inputs without changes
Sent = Annotated[bytes, sent(MOST_JSON, "What was sent")]


async def _texts(content: Annotated[bytes, sent(MOST_TEXTS, "The texts")]) -> dict[str, Any]:
    asked = {"measure": "", "how": "zero", **json_object(content)}
    if not isinstance(asked.get("texts"), list) or not all(
        isinstance(asked[name], str) for name in ("measure", "how")
    ):
        raise InputError('Send the texts as a list: {"texts": ["…", "…"]}.')
    return {name: asked.get(name) for name in ("texts", "measure", "how", "lines")}


@OF_CHANGES.get("/offered")
@PLACES
def offered_route(entry: Held) -> Response:
    """Why nothing can be changed, or measured."""
    return answers.plain(offered(entry))


@OF_CHANGES.post("/changed")
@PLACES
def changed_route(run: str, entry: Held, runs: Runs, content: Sent) -> Response:
    """Run the same input with these changes; the new run's description, and the plain one's.

    A change that cannot be made is refused with 422; with "told": true its sentence is the answer,
    as the page asks for it, since browsers report refusals as errors.
    """
    asked = json_object(content)
    codes = asked.get("changes")
    if not isinstance(codes, list):
        raise InputError('Send the changes as a list of codes, such as {"changes": ["h3.0"]}.')
    try:
        made = runs.rerun(run, PURPOSE, changes=as_changes(codes))
        plain = runs.rerun(run, PURPOSE, changes=())
    except Expired:
        raise
    except SelectionError as fault:
        told = asked.get("told") is True
        return answers.plain({"message": str(fault)}, FRESH) if told else _refused(fault)
    return answers.plain({"run": runs.again(made), "plain": runs.again(plain)}, FRESH)


@OF_CHANGES.get("/said")
@PLACES
def said_route(entry: Held, changes: str = "") -> Response:
    """What changes did to the output: those of this run, or any others."""
    try:
        codes = as_changes(changes.split(",")) if changes else None
        return answers.plain(outcome_plain(outcome_of(entry, codes)))
    except Expired:
        raise
    except SelectionError as fault:
        return _refused(fault)


@OF_CHANGES.get("/proof")
@PLACES
def proof_route(entry: Held) -> Response:
    """That the heads of a changed run were removed, and nothing else was."""
    return answers.plain(proof_plain(entry))


@OF_CHANGES.get("/heads")
@SWEEPING.lines
def heads_route(plain: PlainRun, tell: Progress, measure: str = "", how: str = "zero") -> Plain:
    """The effect of removing each head, as lines of JSON."""
    return effects.head_effects(*plain, measure, how, tell)


@OF_CHANGES.get("/tokens")
@SWEEPING.lines
def tokens_route(
    plain: PlainRun,
    tell: Progress,
    measure: str = "",
    how: str = "attention",
    answer: str = "",
    at: int | None = None,
) -> Plain:
    """The effect of taking each token away, as lines of JSON."""
    return effects.token_effects(*plain, effects.TokenChoice(measure, how, answer, at), tell)


@OF_CHANGES.get("/flips")
@SWEEPING.lines
def flips_route(plain: PlainRun, tell: Progress, most: int = 3) -> Plain:
    """The fewest tokens whose hiding changes the answer, as lines of JSON."""
    return flips_plain(*plain, most, tell)


@OF_CHANGES.post("/texts")
@SWEEPING.lines
def texts_route(
    plain: PlainRun, asked: Annotated[dict[str, Any], Depends(_texts)], tell: Progress
) -> Plain:
    """The mean effect of removing each head over several texts, as lines of JSON."""
    return effects.over_texts(plain[0], **asked, tell=tell)


def _refused(fault: SelectionError) -> Response:
    return sentence(str(fault), 422)
