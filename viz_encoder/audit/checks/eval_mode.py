"""Whether the model came in training mode, in which dropout hides what masks do."""

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.question import question
from viz_encoder.audit.report import Check, Verdict, passes


@question("Eval mode", order=30, one_sided=True)
def eval_mode(context: AuditContext) -> Check:
    """Report that the audit used eval mode and restored the model."""
    if context.was_training:
        text = "It was in training mode: audited in eval mode, and put back."
        return Check(Verdict.INFO, text, cure="model.eval()")
    return passes("The model was in eval mode, so dropout was off; or nothing in it has modes.")
