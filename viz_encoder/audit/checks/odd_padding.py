"""Padding on the other side of the tokens, and NaN in it, which no weight stops: 0 · NaN is NaN."""

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.faults import gradients, padding, weights
from viz_encoder.audit.measure.changes import first_nonfinite
from viz_encoder.audit.measure.flex_masks import parts_of
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.measure.token_axis import by_token, from_tokens
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Verdict, fails, passes, raised, untested
from viz_encoder.shown import continued

# What sees a wrong mask as it is passed.
SEEN = "CALL PASSED batch_independence WEIGHTS LINKS padding_invariance"


@question(
    "Padding on the other side",
    Evidence.BATCHES,
    after=SEEN,
    before="lengths",
    other_side=True,
    one_sided=True,
    compares=True,
)
def left_padding(context: AuditContext) -> Check:
    """Told, for most encoders pad right; where both sides are to be judged, by each check."""
    if context.other_side is not None:
        return untested("Padding on the left: not tried yet.")
    side = "right" if context.setting.left else "left"
    if context.setting.given is not None:
        return untested(f"Padding on the {side}: not tried, because valid was given.")
    valid = context.setting.padding(context.base.valid.shape[1], left=not context.setting.left)
    case = context.setting.case(valid)
    found = _find_fault(context, case)
    if found is None:
        return passes(f"With padding on the {side} real rows are right, too.")
    if found.verdict is Verdict.NOT_TESTED:
        return found.but(evidence=f"Padding on the {side}: {found.evidence}")
    text = f"With padding on the {side}: {continued(found.evidence)}"
    if not context.failed(*SEEN.split()) and _hides_side(context, case):
        found = found.because(diagnose("no_side"))
    return found.but(verdict=Verdict.INFO, evidence=text)


def _hides_side(context: AuditContext, case: Case) -> bool:
    """Whether the model is given the same if the padding of this batch stands on the other side."""
    other = context.setting.case(case.valid.flip(1), x=case.x)
    given = ((one.x, *parts_of(one.passed)) for one in (case, other))
    pairs = list(zip(*given, strict=False))
    return len(pairs) > 1 and all(
        torch.equal(one, then) if isinstance(one, Tensor) else one == then for one, then in pairs
    )


def _find_fault(context: AuditContext, case: Case) -> Check | None:
    try:
        out = context.subject.run(case)
        if (place := first_nonfinite(out, case)) is not None:
            return _nonfinite(context, case, *place)
        leak = weights.find_fault(context, case, maps_of(context.subject, case))
        if leak is None and not isinstance(given := context.gradients_on(case), str):
            leak = gradients.find_fault(context, case, given)
            if leak is not None and leak.key is None:
                leak = None  # NaN gradients of rows that attend to nothing; told in evidence above
        if leak is not None:
            return leak
        return padding.find_fault(context, case, out)
    except ModelFault as fault:
        return raised(fault)


def _nonfinite(context: AuditContext, case: Case, sample: int, query: int) -> Check:
    """A row that is NaN, and whether a row without any key is where it may come from."""
    who = (
        f"The output of sample {sample}"
        if context.is_pooled
        else f"Token {query} of sample {sample}"
    )
    found = fails(f"{who} is NaN or inf.", sample=sample, query=query)
    open_ = torch.stack([one[sample].any(dim=-1) for one in case.allowed]).all(dim=0)
    empty = (~open_).nonzero()[:, 0].tolist()
    if not empty:
        return found
    row = query if query in empty else empty[0]
    text = f"{who} is NaN or inf; row {row} of sample {sample} has no key there."
    cause = "consistent with: a row with nothing to attend to gives NaN, and its NaN spreads."
    cure = "Give that row one key (itself), or drop the row."
    return found.but(evidence=text, cause=cause, cure=cure, code="empty_row")


@question(
    "NaN in padded inputs",
    Evidence.BATCHES,
    after="runs",
    before="left_padding",
    needs_numbers=True,
)
def poisoned_padding(context: AuditContext) -> Check:
    """Reported as INFO: nearly all kernels let it through."""
    case = context.base
    if not case.x.is_floating_point():
        return untested("NaN in padded inputs: this model takes ids.")
    if not case.padded:
        return untested("NaN in padded inputs: no token is padding.")
    if not context.has_tokens:
        return untested("NaN in padded inputs: this input has no axis of tokens.")
    tokens = by_token(case.x, case.valid.shape[1])
    x = from_tokens(tokens.masked_fill(~case.valid[..., None], torch.nan), case.x)
    try:
        out = context.subject.run(case, x=x)
    except ModelFault as fault:
        return Check(Verdict.INFO, f"NaN in padded inputs is refused: {fault}.")
    if first_nonfinite(out, case) is not None:
        text = "NaN or inf in padded inputs reaches real rows: a weight of 0 does not stop it."
        return Check(Verdict.INFO, text, cure="x.masked_fill(~valid[..., None], 0.0)")
    return passes("NaN in padded inputs stays in the padding.")
