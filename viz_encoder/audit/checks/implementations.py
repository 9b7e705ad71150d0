"""Whether the implementations that were given (eager, sdpa, …) agree on real tokens."""

from collections.abc import Iterator
from contextlib import suppress

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.checks import padding_invariance
from viz_encoder.audit.measure.difference import gap
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.question import question
from viz_encoder.audit.report import Check, Verdict, passes, raised, untested
from viz_encoder.audit.several_checks import at_length, other_cases
from viz_encoder.errors import InputError

CURE = (
    "Pass what means the same to both: additive 0 / finfo.min of the model's dtype, or "
    "(batch, token)."
)


@question("Implementations agree", after="runs", order=200, needs_numbers=True)
def implementations(context: AuditContext) -> Check:
    """Each with the same mask on the same inputs; pad rows may differ and are not compared."""
    if not context.scope.variants:
        return untested(
            "Other implementations (eager against sdpa): none was given (AuditScope(variants=…))."
        )
    others = {
        name: model if isinstance(model, Subject) else Subject(model)
        for name, model in context.scope.variants.items()
    }
    refused = []
    cases = ((context.base, context.out), *_other_batches(context), *other_cases(context))
    for case, out in cases:
        for name, subject in others.items():
            try:
                found = _find_fault(context, case, out, name, subject)
            except ModelFault as fault:
                if not _is_longer(context, case) or context.scope.lengths:
                    return raised(fault, f"With {name!r}")
                refused.append(f" {name!r} does not run with {case.valid.shape[1]} tokens.")
                continue
            if found is not None:
                return found
    names = ", ".join(map(repr, others))
    return passes(f"{names} agree with the model on real rows.{''.join(refused)}")


def _other_batches(context: AuditContext) -> Iterator[tuple[Case, Tensor]]:
    """Without padding, and of one sample that has some: for these, too, models leave a mask out."""
    if not context.base.padded or context.setting.fixed:
        return
    shortest = int(context.base.valid.sum(dim=1).argmin())
    with suppress(ModelFault):
        yield context.full, context.subject.run(context.full)
    with suppress(ModelFault, InputError):
        alone = context.setting.case(context.base.valid[shortest : shortest + 1])
        yield alone, context.subject.run(alone)


def _is_longer(context: AuditContext, case: Case) -> bool:
    return case.valid.shape[1] != context.base.valid.shape[1]


def _find_fault(
    context: AuditContext, case: Case, out: Tensor, name: str, subject: Subject
) -> Check | None:
    """Where one differs from the model on one batch; None where it does not."""
    subject.reading = context.subject.reading
    with subject.in_mode(training=False):
        apart = gap(subject.run(case), out, case.valid)
        if apart.amount <= context.tolerance(out):
            return None
        who = _who(context, case, name, subject)
    longer = _is_longer(context, case)
    where = f" {at_length(case)}" if longer else ""
    if len(case.valid) < len(context.base.valid):
        where = " in a batch of one"
    elif context.base.padded and case.valid.all():
        where = f"{where} where nothing is padded"
    text = (
        f"{name!r} differs by {apart.amount:.2g} at token {apart.query} of sample {apart.sample}"
        f"{where}, with the same mask.{who}"
    )
    if longer and not context.was_asked_for(case.valid.shape[1]):
        return untested(text)
    return Check(Verdict.FAIL, text, cure=CURE).at(apart)


def _who(context: AuditContext, case: Case, name: str, subject: Subject) -> str:
    """Which of the two implementations padding changes."""
    own = context.subject
    changed = {}
    for who, one in (("the model itself", own), (repr(name), subject)):
        context.subject = one
        try:
            changed[who] = padding_invariance.find_fault(context, case, one.run(case))
        finally:
            context.subject = own
    first, second = changed.values()
    if (first is None) is (second is None):
        return ""
    return f" Padding changes {next(who for who, found in changed.items() if found is not None)}."
