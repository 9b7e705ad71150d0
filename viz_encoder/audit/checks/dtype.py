"""Whether it holds in the dtype that it will run in."""

from viz_encoder.audit.answer import Answer, passes, raised, untested
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.checks import padding_invariance
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.difference import Gap, gap
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.passed import tensors_in
from viz_encoder.audit.measure.setting import MASS, TOLERANCE, Case, ModelFault
from viz_encoder.audit.question import Question
from viz_encoder.audit.report import Verdict


def ask(context: AuditContext) -> Answer:
    """The weights are cast, the model run, and all put back."""
    dtype = context.scope.dtype
    name = str(dtype or context.subject.dtype).removeprefix("torch.")
    if dtype is None or dtype == context.subject.dtype:
        return untested(f"Other dtypes than {name}: none was given (AuditScope(dtype=…)).")
    if not context.base.x.is_floating_point():
        case = context.base
    else:
        case = context.setting.with_x(context.base, context.base.x.to(dtype))
    with context.subject.weights(lambda weight: weight.to(dtype)):
        try:
            out = context.subject.run(case)
        except ModelFault as fault:
            answer = raised(fault, f"In {name}")
            return answer.because(diagnose("overflow")) if "overflow" in str(fault) else answer
        real = case.valid if out.ndim > 2 else case.valid.any(dim=1)
        if not bool(out[real].isfinite().all()):
            text = f"In {name} real rows are NaN or inf."
            return Answer(Verdict.FAIL, text).because(diagnose("saturated", sure=False))
        found = _leak(context, case) or padding_invariance.find_fault(context, case, out)
    if found is not None:
        return found._replace(evidence=f"In {name}: {found.evidence}")
    apart: Gap = gap(out, context.out, case.valid)
    odd = " A mask of another dtype is passed." if _mixed(case, out.dtype) else ""
    limit = 10 * TOLERANCE.get(dtype, 3e-2)
    if apart.amount > limit:
        text = (
            f"In {name} real rows differ by {apart.amount:.2g} from {context.subject.dtype}.{odd}"
        )
        return Answer(Verdict.WARN, text, amount=apart.amount)
    return passes(f"In {name} it also holds; outputs differ by {apart.amount:.1g}.{odd}")


def _leak(context: AuditContext, case: Case) -> Answer | None:
    for number, layer in enumerate(maps_of(context.subject, case).layers):
        allowed = context.intent(case, number)
        seen = layer.judged(allowed, case.valid)
        judged = case.valid & allowed.any(dim=-1) & ~allowed.all(dim=-1)
        mass = float(seen.leak.masked_fill(seen.nan & judged[:, None], 1.0).max())
        if mass > MASS:
            text = f"layer {number} gives {mass:.2g} of a row to forbidden keys."
            return Answer(Verdict.FAIL, text, layer=number).because(
                diagnose("constant", sure=False)
            )
    return None


def _mixed(case: Case, dtype: object) -> bool:
    floats = [one for _, one in tensors_in(case.passed) if one.is_floating_point()]
    return any(one.dtype != dtype for one in floats)


QUESTION = Question(
    "dtype",
    "The dtype it will run in",
    ask,
    (
        "runs",
        "static",
        "batch_independence",
        "maps",
        "gradient",
        "perturbation",
        "padding_invariance",
    ),
    order=220,
)
