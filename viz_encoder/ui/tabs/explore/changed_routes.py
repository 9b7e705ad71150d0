"""Routes of changed runs: what was changed, its proof, and effects of words and over many texts."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response

from viz_encoder.arguments import Progress
from viz_encoder.errors import InputError
from viz_encoder.ui.state.attributed import PURPOSE, outcome_of, runnable
from viz_encoder.ui.state.recipe import as_changes
from viz_encoder.ui.tabs.explore import head_effects as effects
from viz_encoder.ui.tabs.explore.outcomes import flips_plain, offered, outcome_plain, proof_plain
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Held, Runs
from viz_encoder.ui.wire.body_limits import json_object, sent
from viz_encoder.ui.wire.bytes import FRESH
from viz_encoder.ui.wire.concurrency import Places, Plain
from viz_encoder.ui.wire.errors import ToldRoute

OF_CHANGES = APIRouter(prefix="/whatif", route_class=ToldRoute)
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
def offered_route(entry: Held) -> Plain:
    """Why nothing can be changed, or measured."""
    return offered(entry)


@OF_CHANGES.post("/changed")
@PLACES
def changed_route(run: str, entry: Held, runs: Runs, content: Sent) -> Response:
    """Run the same input with these changes; the new run's description, and the plain one's.

    A change that cannot be made is refused with 422; with "told" its sentence is the answer.
    """
    codes = json_object(content).get("changes")
    if not isinstance(codes, list):
        raise InputError('Send the changes as a list of codes, such as {"changes": ["h3.0"]}.')
    made = runs.rerun(run, PURPOSE, changes=as_changes(codes))
    plain = runs.rerun(run, PURPOSE, changes=())
    return answers.plain({"run": runs.again(made), "plain": runs.again(plain)}, FRESH)


@OF_CHANGES.get("/said")
@PLACES
def said_route(entry: Held, changes: str = "") -> Plain:
    """What changes did to the output: those of this run, or any others."""
    return outcome_plain(outcome_of(entry, as_changes(changes.split(",")) if changes else None))


@OF_CHANGES.get("/proof")
@PLACES
def proof_route(entry: Held) -> Plain:
    """That the heads of a changed run were removed, and nothing else was."""
    return proof_plain(entry)


@OF_CHANGES.get("/heads")
@SWEEPING.lines
def head_effects(plain: PlainRun, tell: Progress, measure: str = "", how: str = "zero") -> Plain:
    """The effect of removing each head: values[layer][head], and the answer without it.

    measure is "masked", "logit", "pooled" or "state"; how is "zero" or "mean".
    """
    return effects.head_effects(*plain, measure, how, tell)


@OF_CHANGES.get("/tokens")
@SWEEPING.lines
def token_effects(
    plain: PlainRun,
    tell: Progress,
    measure: str = "",
    how: str = "attention",
    answer: str = "",
    at: int | None = None,
) -> Plain:
    """The effect of hiding each token from all ("attention"), or of masking it ("mask")."""
    return effects.token_effects(*plain, tell, measure=measure, how=how, answer=answer, at=at)


@OF_CHANGES.get("/flips")
@SWEEPING.lines
def flips(plain: PlainRun, tell: Progress, most: int = 3) -> Plain:
    """The fewest tokens, at most 3, whose hiding changes the answer."""
    return flips_plain(*plain, most, tell)


@OF_CHANGES.post("/texts")
@SWEEPING.lines
def texts_route(
    plain: PlainRun, asked: Annotated[dict[str, Any], Depends(_texts)], tell: Progress
) -> Plain:
    """The mean effect of removing each head over several texts, as lines of JSON."""
    return effects.over_texts(plain[0], **asked, tell=tell)
