"""Whether a call leaves something behind that changes the next, such as a mask or a switch."""

from collections.abc import Iterator
from contextlib import suppress

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.changes import gap
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.report import Check, Diagnosis, Verdict, fails
from viz_encoder.errors import InputError


def after_another(context: AuditContext) -> Check | None:
    """Whether a run moves if a batch of other lengths, or one short sample, ran before it."""
    for words, other, case in _pairs(context):
        with suppress(ModelFault, InputError):
            if (apart := _moved_by(context, other, case)) > 0:
                context.stopped = "a call gives another result after one of another batch"
                text = f"After {words}, {_named(context, case)} gives what differs by {apart:.2g}."
                return fails(text, amount=apart).because(_cause(context, other))
    return _never_as_given(context)


def _pairs(context: AuditContext) -> Iterator[tuple[str, Case, Case]]:
    """What runs before, in words, and what runs after it; longer inputs if the base switches."""
    base, setting = context.base, context.setting
    with suppress(ModelFault, InputError):
        yield "another batch", setting.case(base.valid.roll(1, dims=0), x=base.x), base
    with suppress(ModelFault, InputError):
        if (short := setting.alone(base, int(base.valid.sum(dim=1).argmin()))) is not None:
            yield f"a sample of {short.valid.shape[1]} tokens", short, base
    if _switched_by(context, base):
        yield "a call like it", base, base
        for length in context.other_lengths:
            longer = setting.case(setting.padding(length))
            yield f"a batch of {base.valid.shape[1]} tokens", base, longer


def _named(context: AuditContext, case: Case) -> str:
    return "the same input" if case is context.base else f"one of {case.valid.shape[1]} tokens"


def _moved_by(context: AuditContext, other: Case, case: Case) -> float:
    """How far a case moves after the other one; 0 where it does not do so each time."""
    alone = context.out if case is context.base else context.subject.run(case)
    limit, out = context.tolerance(alone), _run_after(context, other, case)
    apart = gap(alone, out, case.valid).amount
    if apart > limit and gap(out, _run_after(context, other, case), case.valid).amount <= limit:
        return apart
    return 0.0


def _run_after(context: AuditContext, other: Case, case: Case) -> Tensor:
    with context.subject.switches.left_alone():
        context.subject.run(other)
        return context.subject.run(case)


def _switched_by(context: AuditContext, case: Case) -> str:
    """What one call of it switches for good, in words."""
    if not context.subject.switches.any:
        return ""
    context.subject.run(case)
    return context.subject.switches.words


def _cause(context: AuditContext, other: Case) -> Diagnosis:
    found = diagnose("kept")
    if not (words := _switched_by(context, other)):
        return found
    cause = f"a call switches the model for good: {words}."
    cure = "Choose in each call by what it is given, and set no attribute of the model for it."
    return found._replace(cause=cause, cure=cure)


def _never_as_given(context: AuditContext) -> Check | None:
    """A warning where each call that was tried switches to another word, so none ran as given."""
    if not context.subject.switches.any:
        return None
    cases = [context.base]
    with suppress(ModelFault, InputError):
        cases += [context.setting.case(context.setting.padding(n)) for n in context.other_lengths]
    told = ""
    for case in cases:
        with suppress(ModelFault):
            told = _switched_by(context, case)
            if not any(isinstance(was, str) for was, _ in context.subject.switches.last.values()):
                return None
    text = f"Each call switches the model for good, so it was never tried as given: {told}."
    cure = "Give AuditScope(lengths=[…]) of inputs that do not switch it."
    return Check(Verdict.WARN, text, cure=cure)
