"""Routes of changed runs: what was changed, what that did, and its proof."""

from typing import Annotated

from fastapi import APIRouter, Response

from viz_encoder.errors import InputError
from viz_encoder.ui.state.attributed import PURPOSE, outcome_of
from viz_encoder.ui.state.recipe import as_changes
from viz_encoder.ui.tabs.explore.outcomes import offered, outcome_plain, proof_plain
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Held, Runs
from viz_encoder.ui.wire.body_limits import json_object, sent
from viz_encoder.ui.wire.bytes import FRESH
from viz_encoder.ui.wire.concurrency import Places, Plain
from viz_encoder.ui.wire.errors import ToldRoute

OF_CHANGES = APIRouter(prefix="/whatif", route_class=ToldRoute)
MOST_JSON = 2**16
PLACES = Places(1)
Sent = Annotated[bytes, sent(MOST_JSON, "What was sent")]


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
