"""Routes of the mask zoo: its specimens, and the audit of one; they need no run."""

from fastapi import APIRouter, Response

from viz_encoder.ui.tabs.masks.audits import AUDITS, kept, zoo
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Runs
from viz_encoder.ui.wire.bytes import FRESH
from viz_encoder.ui.wire.concurrency import Places
from viz_encoder.ui.wire.errors import ErrorRoute
from viz_encoder.ui.wire.watch import watch

ROUTER = APIRouter(prefix="/viz/zoo", route_class=ErrorRoute)  # nothing of a stranger's is ever run
PLACES = Places(1)


@ROUTER.get("")
def specimens() -> Response:
    """The specimens by section, and how to audit one's own model."""
    return answers.plain(zoo(), FRESH)


@ROUTER.get("/{identifier}/kept")
def kept_audit(identifier: str) -> Response:
    """The audit of the wrong line with seed 0, as it was kept when this version was made."""
    return answers.plain(kept(identifier), FRESH)


@ROUTER.get("/{identifier}")
@PLACES
def audit(identifier: str, runs: Runs, fixed: bool = False, seed: int = 0) -> Response:
    """The audit of a specimen with its pictures, unless whoever asked went away meanwhile."""
    tell = watch(runs.limits)
    return answers.plain(AUDITS.of(identifier, fixed, seed, tell), FRESH)
