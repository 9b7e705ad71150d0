"""Whether the implementations that were given (eager, sdpa, …) agree on real tokens."""

from viz_encoder.audit.answer import Answer, passes, untested
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.checks import padding_invariance
from viz_encoder.audit.measure.difference import gap
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.question import Question
from viz_encoder.audit.report import Verdict


def ask(context: AuditContext) -> Answer:
    """Each with the same mask on the same input; pad rows may differ and are not compared."""
    if not context.scope.variants:
        return untested(
            "Other implementations (eager against sdpa): none was given (AuditScope(variants=…))."
        )
    for name, model in context.scope.variants.items():
        subject = model if isinstance(model, Subject) else Subject(model)
        subject.reading = context.subject.reading
        with subject.in_mode(training=False):
            out = subject.run(context.base)
            apart = gap(out, context.out, context.base.valid)
            if apart.amount > context.tolerance(context.out):
                text = (
                    f"{name!r} differs by {apart.amount:.2g} at token {apart.query} of sample "
                    f"{apart.sample}, with the same mask.{_who(context, name, subject, out)}"
                )
                cure = (
                    "Pass what means the same to both: additive 0 / finfo.min of the model's "
                    "dtype, or (batch, token)."
                )
                return Answer(
                    Verdict.FAIL,
                    text,
                    cure=cure,
                    sample=apart.sample,
                    query=apart.query,
                    amount=apart.amount,
                )
    names = ", ".join(map(repr, context.scope.variants))
    return passes(f"{names} agree with the model on real rows.")


def _who(context: AuditContext, name: str, subject: Subject, out: object) -> str:
    """Which of the two implementations padding changes."""
    own, own_subject = context.out, context.subject
    first = padding_invariance.find_fault(context, context.base, own)
    context.subject = subject
    try:
        second = padding_invariance.find_fault(context, context.base, subject.run(context.base))
    finally:
        context.subject = own_subject
    if (first is None) is (second is None):
        return ""
    return f" Padding changes {'the model itself' if first is not None else repr(name)}."


QUESTION = Question("implementations", "Implementations agree", ask, ("runs",), order=200)
