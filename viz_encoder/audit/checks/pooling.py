"""Whether the pooled vector is made of the tokens it is meant to be made of, and not of padding."""

from viz_encoder.audit.arguments import LAST
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.pooling_cause import (
    amounts_of,
)
from viz_encoder.audit.faults import pooled
from viz_encoder.audit.measure.setting import GRADIENT
from viz_encoder.audit.missing_links import takes_one_row
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, passes, untested


@question(
    "Pooling", Evidence.COMPANY, after="runs padding_invariance", part="padding", compares=True
)
def output_pooling(context: AuditContext) -> Check:
    """pooled(output, valid), in the batch and alone."""
    if context.scope.pooled is None:
        if context.is_pooled:
            return passes(
                "The model pools by itself, so the checks of padding, gradients and changed "
                "tokens judge its pooling."
            )
        return untested("Pooling of the outputs: no AuditScope(pooled=…) was given.")
    if not context.base.padded:
        return untested("Pooling of the outputs: your valid has no padding.")
    found = pooled.find_fault(context, context.base, context.out)
    return found or passes("The pooled vectors are the same alone and with padding.")


@question(
    "Which tokens are pooled",
    Evidence.COMPANY,
    after="runs output_pooling",
    needs="gradient",
    before="permutation",
    part="pooling",
)
def pooled_tokens(context: AuditContext) -> Check:
    """The gradient of the pooled vector by the pooled rows: by none but the intended, by each."""
    if context.scope.pool_over is None:
        return untested("Which tokens are pooled: no AuditScope(pool_over=…) was given.")
    case = context.base
    wanted, amounts = pooled.wanted_tokens(context, case), amounts_of(context, case)
    if amounts is None:
        return untested("Which tokens are pooled: no rows (batch, token, d) lead to the output.")
    over = amounts.masked_fill(wanted, 0.0)
    if _padding_is_told(context) and not bool((over[case.valid] > GRADIENT).any()):
        return untested("Which tokens are pooled: padding is, as another check says.")
    if (found := pooled.find_other_tokens(context, case, wanted, amounts)) is not None:
        return found
    if takes_one_row(context, case, wanted):
        return untested(
            "Which tokens are pooled: each sample's vector is the row of one token alone, which "
            f"the inputs choose; pool_over= names several. For the last one, give pool_over={LAST}."
        )
    unseen = int((wanted & (wanted.sum(dim=1, keepdim=True) == 1) & (amounts == 0)).sum())
    but = f" Whether {unseen} of them are read, no gradient shows." if unseen else ""
    return passes(
        f"Pooled vectors depend on the {int(wanted.sum())} intended tokens, and on no other.{but}"
    )


def _padding_is_told(context: AuditContext) -> bool:
    """Whether the gradient of the vector was already seen to lead to padding."""
    found = context.answers.get("gradient")
    if not context.is_pooled or found is None or not found.verdict.is_red or found.key is None:
        return False
    return not bool(context.base.valid[found.sample, found.key])
