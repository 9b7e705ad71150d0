"""Whether it holds in the dtype that it will run in."""

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.checks import padding_invariance
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.difference import Gap, gap
from viz_encoder.audit.measure.flex_masks import tensors_in
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.setting import MASS, TOLERANCE, Case, ModelFault
from viz_encoder.audit.question import question
from viz_encoder.audit.report import Check, Verdict, passes, raised, untested
from viz_encoder.audit.several_checks import at_length, other_cases


@question(
    "The dtype it will run in",
    after="runs static batch_independence maps gradient perturbation padding_invariance",
    order=220,
    needs_numbers=True,
)
def dtype(context: AuditContext) -> Check:
    """The weights are cast, the model run, and all put back."""
    dtype = context.scope.dtype
    name = str(dtype or context.subject.dtype).removeprefix("torch.")
    if dtype is None or dtype == context.subject.dtype:
        return untested(f"Other dtypes than {name}: none was given (AuditScope(dtype=…)).")
    cast = f"In {name}"
    told = _find_fault(context, context.base, context.out, cast)
    if told.verdict is not Verdict.PASS:
        return told
    for case, out in [*other_cases(context)][-1:]:  # the longest, for a run that is cast is slow
        found = _find_fault(context, case, out, f"{cast}, {at_length(case)}")
        if found.verdict in (Verdict.FAIL, Verdict.WARN):
            asked = context.was_asked_for(case.valid.shape[1])
            return found if asked else untested(found.evidence)
    return told


def _find_fault(context: AuditContext, usual: Case, in_own: Tensor, cast: str) -> Check:
    """The answer for one batch, of which `in_own` is the output in the module's own dtype."""
    dtype, x = context.scope.dtype, usual.x
    assert dtype is not None
    case = context.setting.with_x(usual, x.to(dtype)) if x.is_floating_point() else usual
    with context.subject.weights(lambda weight: weight.to(dtype)):
        try:
            out = context.subject.run(case)
        except ModelFault as fault:
            answer = raised(fault, cast)
            return answer.because(diagnose("overflow")) if "overflow" in str(fault) else answer
        real = case.valid if out.ndim > 2 else case.valid.any(dim=1)
        if not bool(out[real].isfinite().all()):
            text = f"{cast} real rows are NaN or inf."
            return Check(Verdict.FAIL, text).because(diagnose("saturated", sure=False))
        found = _leak(context, case) or padding_invariance.find_fault(context, case, out)
    if found is not None:
        return found.but(evidence=f"{cast}: {found.evidence}")
    apart: Gap = gap(out, in_own, case.valid)
    odd = " A mask of another dtype is passed." if _mixed(case, out.dtype) else ""
    if apart.amount > 10 * TOLERANCE.get(dtype, 3e-2):
        text = f"{cast} real rows differ by {apart.amount:.2g} from {context.subject.dtype}.{odd}"
        return Check(Verdict.WARN, text, amount=apart.amount)
    return passes(f"{cast} it also holds; outputs differ by {apart.amount:.1g}.{odd}")


def _leak(context: AuditContext, case: Case) -> Check | None:
    for number, layer in enumerate(maps_of(context.subject, case).layers):
        allowed = context.intent(case, number)
        seen = layer.judged(allowed, case.valid)
        judged = case.valid & allowed.any(dim=-1) & ~allowed.all(dim=-1)
        mass = float(seen.leak.masked_fill(seen.nan & judged[:, None], 1.0).max())
        if mass > MASS:
            text = f"layer {number} gives {mass:.2g} of a row to forbidden keys."
            return Check(Verdict.FAIL, text, layer=number).because(diagnose("constant", sure=False))
    return None


def _mixed(case: Case, dtype: object) -> bool:
    floats = [one for _, one in tensors_in(case.passed) if one.is_floating_point()]
    return any(one.dtype != dtype for one in floats)
