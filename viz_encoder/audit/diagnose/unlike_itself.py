"""Why runs on the same input differ in eval mode: by what an earlier call left, or by chance."""

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.difference import gap
from viz_encoder.audit.measure.subject import NoDropout
from viz_encoder.audit.report import Answer, Diagnosis, untested
from viz_encoder.trace.callers_state import random_states_kept

PICKS = (torch.randint, torch.randperm, torch.multinomial)
SEEDED = (
    "Draw the same in each call, def run(x, passed): torch.manual_seed(0); return model(x, passed),"
    " and pass module=model; may_leave_out=True if keys are left out. If nothing is to be drawn in "
    "eval mode, this is the fault."
)


class Picks(TorchFunctionMode):
    """While it is entered, notes the functions that pick at random."""

    name = ""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run it."""
        self.name = f"torch.{func.__name__}" if func in PICKS else self.name
        return func(*args, **(kwargs or {}))


def by_picking(context: AuditContext) -> Answer | None:
    """Not tested where a model picks tokens at random in each call, as sampled keys are."""
    with NoDropout(), Picks() as picks:
        one, other = (context.subject.run(context.base) for _ in range(2))
    apart = gap(one, other, context.base.valid).amount
    if not picks.name or apart <= context.tolerance(context.out):
        return None
    text = f"Two equal calls differ, because the model picks at random in eval mode ({picks.name})."
    return untested(f"{text} {SEEDED}")


def unlike_itself(context: AuditContext) -> Diagnosis:
    """By further runs: equal after the first call, or only if the same random numbers are drawn."""
    subject, case, limit = context.subject, context.base, context.tolerance(context.out)

    def seeded() -> Tensor:
        with random_states_kept([subject.device]):
            return subject.run(case)

    if gap(context.again, subject.run(case), case.valid).amount <= limit:
        found = diagnose("kept", more="; or the first call uses something up, such as a generator")
        again = "list(filter(…)) for filter(…), which can be gone through once, as zip and map can."
        return found._replace(cure=f"{found.cure} {again}")
    by_chance = gap(seeded(), seeded(), case.valid).amount <= limit
    return diagnose("random" if by_chance else "kept", sure=False)
