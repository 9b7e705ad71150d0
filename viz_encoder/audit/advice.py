"""Advice for faults without a known cause: the option that says they are meant."""

from viz_encoder.audit.answer import Answer
from viz_encoder.audit.audit_context import AuditContext


def suggest_reading_ids(context: AuditContext, found: Answer) -> Answer:
    """Suggest an intent of the ids, unless the cause is known or there are no ids to read."""
    if found.code or context.setting.reads_input or context.base.x.is_floating_point():
        return found
    return found.advised(
        "If the model makes its mask of its ids, as where documents end at an EOS, let the "
        "intent read them: def intent(valid, ids)."
    )


def suggest_leaving_out(context: AuditContext, found: Answer) -> Answer:
    """Suggest may_leave_out for missing links, unless their cause is known."""
    if found.code:
        return found
    give = "may_leave_out=True"
    give = give if context.setting.fixed else f"AuditScope({give})"
    return found.advised(
        "If attention may leave out what the intent allows (sparse, top-k, deformable), give "
        f"{give}."
    )
