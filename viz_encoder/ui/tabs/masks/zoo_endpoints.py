"""Named endpoints of the mask zoo: its specimens, and the audit of one, as plain data."""

from typing import Any

from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tabs.masks.audits import AUDITS
from viz_encoder.ui.tabs.masks.audits import zoo as specimens
from viz_encoder.ui.wire.endpoints import in_queue
from viz_encoder.ui.wire.watch import watched


def zoo(runner: Runner) -> dict[str, Any]:
    """The planted mask bugs by section: symptom, story, the wrong line and the corrected one."""
    return specimens()


@in_queue("audit")
def zoo_audit(
    runner: Runner, identifier: str, fixed: bool = False, seed: int = 0
) -> dict[str, Any]:
    """The audit of a specimen, such as "A1-multihead", or of its corrected line, with pictures.

    seed draws the weights, 0 to 99. A picture holds intended, passed and observed by query and
    key; True = may attend.
    """
    return AUDITS.of(identifier, fixed, seed, watched(runner.limits).check)
