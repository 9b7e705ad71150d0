"""What is asked of one batch of the caller's, as it is: no other can be made."""

from contextlib import suppress
from dataclasses import replace

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.batch_facts import ids_of_padding, lengths_of
from viz_encoder.audit.diagnose.right_on import unlike_itself
from viz_encoder.audit.measure.changes import first_nonfinite, gap
from viz_encoder.audit.measure.flex_masks import mapped
from viz_encoder.audit.measure.setting import ModelFault, RowsLost
from viz_encoder.audit.missing_links import find_unread
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Learned, fails, passes, raised, untested


@question("Gives numbers", Evidence.CALL, of="own", before="in_place")
def runs(context: AuditContext) -> Check:
    """Whether it runs as it is, gives numbers, and the same again."""
    try:
        out = context.out
    except ModelFault as fault:
        return fails(fault.sentence, learned=Learned("the model does not run"))
    fits = out.shape[:2] == context.base.valid.shape
    if not fits and _is_cut(context, out):
        return raised(RowsLost.of(out, context.base.valid))
    if fits and out.ndim > 2 and (place := first_nonfinite(out, context.base)) is not None:
        sample, query = place
        text = f"Output row {query} of sample {sample}, a real token, is NaN or inf."
        return fails(text, sample=sample, query=query)
    again = gap(out, context.second.out, context.base.valid) if fits else None
    if again is not None and not context.subject.trains and again.amount > context.tolerance(out):
        text = (
            f"A second run on this batch differs by {again.amount:.2g} at token {again.query} of "
            f"sample {again.sample}, in eval mode."
        )
        found = fails(text, sample=again.sample, query=again.query)
        return found.because(unlike_itself(context))
    return passes(f"It runs, and gives {tuple(out.shape)}.")


def _is_cut(context: AuditContext, out: Tensor) -> bool:
    """Whether there are as many rows as the longest sample has tokens, in a batch of one, too."""
    case = context.base
    counts = case.valid.sum(dim=1)
    least, sample = (int(one) for one in counts.min(dim=0))
    if out.ndim < 3 or out.shape[:2] != (len(counts), int(counts.max())):
        return False
    own = mapped(
        case.passed, lambda one: one[sample:][:1] if one.shape[:1] == counts.shape else one
    )
    with suppress(ModelFault):
        alone = context.subject.run(replace(case, passed=own))
        return least < int(counts.max()) and alone.shape[1] == least
    return False


@question("Tokens that are never read", Evidence.COMPANY, of="own", after="runs maps")
def never_read(context: AuditContext) -> Check:
    """Of one vector a sample, as of learned queries; where each token has a row, maps tell."""
    if not context.is_pooled or len(context.out) != len(context.base.valid):
        return passes("The output is no vector a sample that tokens could be missing from.")
    if context.scope.may_leave_out:
        return untested("Tokens that are never read: any may be left out (may_leave_out=True).")
    if isinstance(context.gradients, str):
        return untested(f"Tokens that are never read: no gradients: {context.gradients}.")
    return find_unread(context, context.base) or passes(
        "The vector of each sample changes with each token that all may know of."
    )


@question("Ids of padding", Evidence.USE, of="own", before="length")
def pad_id(context: AuditContext) -> Check:
    """Whether padding is where the ids say so."""
    return ids_of_padding(context.base, context.setting.pad_id)


@question("Lengths of the samples", Evidence.USE, of="own")
def length(context: AuditContext) -> Check:
    """Told, and no fault."""
    return lengths_of(context.base)
