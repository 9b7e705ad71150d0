"""Whether a call leaves alone what it is given, and what the model keeps from call to call."""

from typing import Any

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.changes import Gap, gap
from viz_encoder.audit.measure.second_call import call_on, copies_of
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Verdict, passes, untested
from viz_encoder.trace.callers_state import random_states_kept


@question(
    "Nothing is changed in place",
    Evidence.CALL,
    of="made own",
    corrupts=True,
    one_sided=True,
    needs_numbers=True,
)
def in_place(context: AuditContext) -> Check:
    """Two calls with the very same tensors; then a call after another one, against it alone."""
    state = context.subject.state
    changed = state.changed()  # by the runs so far
    try:
        found = (changed and _kept(context, changed)) or _of_what_is_given(context)
    except ModelFault as fault:
        return untested(f"Changes in place: {fault.clause}.")
    finally:
        state.put_back()
    return found or passes("A call changes nothing that is passed.")


def _of_what_is_given(context: AuditContext) -> Check | None:
    """What a call changes of x and the passed tensors, and whether it matters."""
    subject, case, second = context.subject, context.base, context.second
    if not second.changed:
        return None
    text = f"A call changes {' and '.join(second.changed)} in place"
    fresh, once_more = (_alike(subject, *copies_of(case), case) for _ in range(2))
    if gap(fresh, once_more, case.valid).amount > 0:
        return untested(f"{text}; runs on the same input differ, so its effect is not known.")
    apart = gap(fresh, _alike(subject, second.x, second.passed, case), case.valid)
    if apart.amount <= context.tolerance(fresh):
        return Check(Verdict.INFO, f"{text}; a second call with it gives the same result.")
    only_vectors = second.changed == ["the input"] and case.x.is_floating_point()
    verdict = Verdict.WARN if only_vectors else Verdict.FAIL
    text += f": a second call with the same tensors differs by {apart.amount:.2g} at {_at(apart)}."
    return _found(verdict, text, apart)


def _alike(subject: Subject, x: Tensor, passed: Any, case: Case) -> Tensor:
    """The output, always with the same dropout."""
    with random_states_kept([subject.device]):
        return subject.read(call_on(subject, x, passed, case), case.valid).clone()


def _kept(context: AuditContext, changed: list[str]) -> Check | None:
    """State that a call changes; None if a second call gives the same as the first.

    The other one has padding and this one has none, so a mask that stays closed shows.
    """
    subject, case = context.subject, context.full
    outs = []
    for _ in range(2):
        subject.state.put_back()
        outs.append(subject.run(case))
    alone, again = outs
    subject.state.put_back()
    subject.run(context.base)
    apart = gap(alone, subject.run(case))
    if gap(alone, again).amount > 0 or apart.amount <= context.tolerance(alone):
        return None
    names = " and ".join(f"the model's {name!r}" for name in changed if not name.isdigit())
    text = (
        f"A call changes {names or 'a tensor that the code of the model holds'} in place: the "
        f"next one differs by {apart.amount:.2g} at {_at(apart)}, though its input is the same."
    )
    return _found(Verdict.FAIL, text, apart)


def _found(verdict: Verdict, text: str, apart: Gap) -> Check:
    answer = Check(verdict, text, sample=apart.sample, query=apart.query, amount=apart.amount)
    return answer.because(diagnose("in_place"))


def _at(apart: Gap) -> str:
    return f"token {apart.query} of sample {apart.sample}"
