"""What to give the audit where a fault may be no fault of the model."""

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.report import Check


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
