"""Question: what a check is, and what several do alike, such as to try other lengths."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.changes import first_nonfinite, gap
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.report import Check, fails
from viz_encoder.errors import InputError

IN_PLACE = 15  # the place of "in_place" in the order
FIRST = "runs static constants batch_independence"  # what spoils all that looks at tokens
# They see a wrong mask as it is passed; what would see it again in another way follows from them.
SEEN_FIRST = "runs static batch_independence maps row_sums gradient perturbation padding_invariance"

LAST = "lambda valid: valid & (valid.cumsum(1) == valid.sum(1)[:, None])"  # a pool_over=


@dataclass(frozen=True)
class Question:
    """A check: what it is called, how it is answered, and which failures explain its own."""

    name: str
    title: str
    ask: Callable[[AuditContext], Check]
    after: tuple[str, ...] = ()  # if one of these failed, this failure follows from it
    order: int = 1000  # checks are asked in this order
    one_sided: bool = False  # its answer is the same on whichever side padding stands
    judges: bool = False  # it sees where tokens attend; without any such check there is no PASS
    compares: bool = False  # it compares outputs, which also differ where samples share a capacity
    needs_numbers: bool = False  # it can tell nothing of NaN; no check that compares can
    suspects: bool = False  # it sees a likely cause, whose effect another check may find

    @property
    def explained_by(self) -> tuple[str, ...]:
        """Checks whose failures explain this one's: a corrupted call corrupts all later ones."""
        return ("in_place", *self.after) if self.order > IN_PLACE else self.after


def question(
    title: str, *, after: str = "", **more: Any
) -> Callable[[Callable[[AuditContext], Check]], Question]:
    """Turn a function into the check of its name; `after` are names, with spaces between."""
    return lambda ask: Question(ask.__name__, title, ask, tuple(after.split()), **more)


def suggest_reading_ids(context: AuditContext, found: Check) -> Check:
    """Suggest an intent of the ids, unless the cause is known or there are no ids to read."""
    if found.code or context.setting.reads_input or context.base.x.is_floating_point():
        return found
    return found.advised(
        "If the model makes its mask of its ids, as where documents end at an EOS, let the "
        "intent read them: def intent(valid, ids)."
    )


def suggest_leaving_out(context: AuditContext, found: Check) -> Check:
    """Suggest may_leave_out for missing links, unless their cause is known."""
    if found.code:
        return found
    give = "may_leave_out=True"
    give = give if context.setting.fixed else f"AuditScope({give})"
    return found.advised(
        "If attention may leave out what the intent allows (sparse, top-k, deformable), give "
        f"{give}."
    )


def find_ignored(context: AuditContext, case: Case, out: Tensor) -> Check | None:
    """The fault that other inputs give the very same output; None where any of it differs."""
    if context.setting.fixed or first_nonfinite(out, case) is not None:
        return None  # there is one batch, or NaN, which is as it is
    with suppress(ModelFault, InputError):
        other = context.setting.case(case.valid, seed=context.setting.seed + 1)
        if torch.equal(other.x, case.x) or gap(context.subject.run(other), out, case.valid).amount:
            return None
        text = "The output does not depend on the input; with other inputs it is the same."
        return fails(text, amount=0.0).because(diagnose("input_unused", sure=False))
    return None


def other_cases(context: AuditContext, *, padded: bool = True) -> Iterator[tuple[Case, Tensor]]:
    """A batch of each other length that the model takes, and its output.

    None where the model itself is wrong at one of them, which explains what any check would find.
    """
    for length in () if context.failed("lengths") else context.other_lengths:
        valid = context.setting.padding(length)
        with suppress(ModelFault):
            case = context.setting.case(valid if padded else torch.ones_like(valid))
            yield case, context.subject.run(case)


def at_length(case: Case) -> str:
    """Where a fault shows that the first length does not."""
    return f"at {case.valid.shape[1]} tokens (fewer pass)"
