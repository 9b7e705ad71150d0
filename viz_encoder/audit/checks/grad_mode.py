"""Whether the path with gradients and the one without (a fused kernel, mostly) agree."""

import torch

from viz_encoder.audit.answer import Answer, passes, untested
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.difference import gap
from viz_encoder.audit.question import Question
from viz_encoder.audit.report import Verdict


def ask(context: AuditContext) -> Answer:
    """Real rows must agree; rows of padding often do not, and that is said."""
    case = context.base
    if context.grad_fault:
        return untested(f"With gradients: the model raised {context.grad_fault}.")
    grad = context.grad_out
    with torch.inference_mode():
        inference = context.subject.run(case)
    limit = context.tolerance(context.out)
    for name, other in (("with gradients", grad), ("in inference mode", inference)):
        apart = gap(other, context.out, case.valid)
        if apart.amount > limit:
            text = (
                f"Token {apart.query} of sample {apart.sample} differs by {apart.amount:.2g} "
                f"{name} and without gradients: two paths of one module treat the mask differently."
            )
            found = Answer(Verdict.FAIL, text, sample=apart.sample, query=apart.query)
            return found._replace(amount=apart.amount).because(diagnose("path"))
    text = "With gradients, without them and in inference mode, real rows agree."
    if context.out.ndim > 2 and case.padded:
        pads = gap(grad, context.out, ~case.valid)
        if pads.amount > limit:
            return passes(f"{text} Rows of padding differ: leave them out of loss and pooling.")
    return passes(text)


QUESTION = Question("grad_mode", "With and without gradients", ask, ("runs", "maps"), order=130)
