"""Whether tokens look where they may on a changed batch, and why one call is unlike another."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.changes import gap
from viz_encoder.audit.measure.gradients import Gradients
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.setting import GRADIENT, MASS, Case
from viz_encoder.audit.measure.watch import CallWatch, NoDropout
from viz_encoder.audit.missing_links import missing_links
from viz_encoder.audit.report import Check, Diagnosis, untested
from viz_encoder.trace.callers_state import random_states_kept

LayersAndHeads = list[tuple[int, int]]


def is_right_on(
    context: AuditContext, case: Case, places: LayersAndHeads | None = None
) -> bool | None:
    """Whether tokens look where they may on this batch, and nowhere else; None if unseen.

    Not if the tokens do not stand at these places among the keys.
    """
    layers = maps_of(context.subject, case).layers
    if places is not None and places_of_tokens(layers) != places:
        return False
    if layers and len(case.allowed) in (1, len(layers)):
        judged = [one.judged(context.intent(case, n), case.valid) for n, one in enumerate(layers)]
        return all(float(o.leak.max()) <= MASS and not context.misses(o.lost) for o in judged)
    found = context.gradients_on(case)
    if isinstance(found, str) or context.is_pooled:
        return None
    if context.misses(missing_links(context, case, found).closed):
        return False
    return is_closed(context, case, found)


def is_closed(context: AuditContext, case: Case, found: Gradients) -> bool:
    """Whether no row changes with a token that it may not know of."""
    may = context.may(case)
    depends = found.relative().nan_to_num(1.0) > GRADIENT
    return all(
        not bool((depends[n] & ~_of_sample(may, sample, query)).any())
        for n, (sample, query) in enumerate(found.rows)
    )


def _of_sample(known: Tensor, sample: int, query: int) -> Tensor:
    """Tokens that influence one token, "batch key"."""
    whole = torch.zeros_like(known[:, 0])
    whole[sample] = known[sample, query]
    return whole


def right_with(context: AuditContext, case: Case, change: Callable[[Case], Case]) -> bool:
    """Whether all is right with the batch changed in this way, and with a further one."""
    further = context.batches.further(case)[: 1 if case is context.base else 2]
    return all(is_right_on(context, change(one)) for one in (case, *further))


def places_of_tokens(layers: Sequence[LayerRun]) -> LayersAndHeads:
    """The first token's key and the number of open slots, for each layer."""
    return [(one.slots.first, one.slots.n_open) for one in layers]


PICKS = (torch.randint, torch.randperm, torch.multinomial)
SEEDED = (
    "Draw the same in each call, def run(x, passed): torch.manual_seed(0); return model(x, passed),"
    " and pass module=model; may_leave_out=True if keys are left out. If nothing is to be drawn in "
    "eval mode, this is the fault."
)


class Picks(CallWatch):
    """While it is entered, notes the functions that pick at random."""

    name = ""

    def see(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """Note its name, and pass it on."""
        self.name = f"torch.{func.__name__}" if func in PICKS else self.name
        return out


def by_picking(context: AuditContext) -> Check | None:
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

    if gap(context.second.out, subject.run(case), case.valid).amount <= limit:
        found = diagnose("kept", more="; or the first call uses something up, such as a generator")
        again = "list(filter(…)) for filter(…), which can be gone through once, as zip and map can."
        return found._replace(cure=f"{found.cure} {again}")
    by_chance = gap(seeded(), seeded(), case.valid).amount <= limit
    return diagnose("random" if by_chance else "kept", sure=False)
