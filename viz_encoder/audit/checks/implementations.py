"""Whether other implementations, such as eager and sdpa, agree, and the dtype it will run in."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.faults import padding
from viz_encoder.audit.measure.changes import Gap, gap
from viz_encoder.audit.measure.flex_masks import tensors_in
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.setting import MASS, TOLERANCE, Case, ModelFault
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Verdict, fails, passes, raised, untested
from viz_encoder.errors import InputError

CURE = (
    "Pass what means the same to both: additive 0 / finfo.min of the model's dtype, or "
    "(batch, token)."
)


@question("Implementations agree", Evidence.WAYS, after="runs", needs="lengths", needs_numbers=True)
def implementations(context: AuditContext) -> Check:
    """Each with the same mask on the same inputs; pad rows may differ and are not compared."""
    if not context.scope.variants:
        return untested(
            "Other implementations (eager against sdpa): none was given (AuditScope(variants=…))."
        )
    others = {
        name: model if isinstance(model, Subject) else Subject(model)
        for name, model in context.scope.variants.items()
    }
    refused = []
    cases = ((context.base, context.out), *_other_batches(context), *context.other_cases())
    for case, out in cases:
        for name, subject in others.items():
            try:
                found = _differs(context, case, out, name, subject)
            except ModelFault as fault:
                if not _is_longer(context, case) or context.scope.lengths:
                    return raised(fault, f"With {name!r}")
                refused.append(f" {name!r} does not run with {case.valid.shape[1]} tokens.")
                continue
            if found is not None:
                return found
    names = ", ".join(map(repr, others))
    return passes(f"{names} agree with the model on real rows.{''.join(refused)}")


def _other_batches(context: AuditContext) -> Iterator[tuple[Case, Tensor]]:
    """Without padding, and of one sample that has some: for these, too, models leave a mask out."""
    if not context.base.padded or context.setting.fixed:
        return
    shortest = int(context.base.valid.sum(dim=1).argmin())
    with suppress(ModelFault):
        yield context.full, context.subject.run(context.full)
    with suppress(ModelFault, InputError):
        alone = context.setting.case(context.base.valid[shortest : shortest + 1])
        yield alone, context.subject.run(alone)


def _is_longer(context: AuditContext, case: Case) -> bool:
    return case.valid.shape[1] != context.base.valid.shape[1]


def _differs(
    context: AuditContext, case: Case, out: Tensor, name: str, subject: Subject
) -> Check | None:
    """Where one differs from the model on one batch; None where it does not."""
    subject.reading = context.subject.reading
    with subject.in_mode(training=False):
        apart = gap(subject.run(case), out, case.valid)
        if apart.amount <= context.tolerance(out):
            return None
        who = _who(context, case, name, subject)
    longer = _is_longer(context, case)
    where = f" {case.at_length}" if longer else ""
    if len(case.valid) < len(context.base.valid):
        where = " in a batch of one"
    elif context.base.padded and case.valid.all():
        where = f"{where} where nothing is padded"
    text = (
        f"{name!r} differs by {apart.amount:.2g} at token {apart.query} of sample {apart.sample}"
        f"{where}, with the same mask.{who}"
    )
    if longer and not context.was_asked_for(case.valid.shape[1]):
        return untested(text)
    return fails(text, cure=CURE).at(apart)


def _who(context: AuditContext, case: Case, name: str, subject: Subject) -> str:
    """Which of the two implementations padding changes."""
    both = {"the model itself": context, repr(name): context.but(subject=subject)}
    changed = {
        who: padding.find_fault(one, case, one.subject.run(case)) for who, one in both.items()
    }
    first, second = changed.values()
    if (first is None) is (second is None):
        return ""
    return f" Padding changes {next(who for who, found in changed.items() if found is not None)}."


@question(
    "The dtype it will run in",
    Evidence.USE,
    after="runs static batch_independence maps gradient perturbation padding_invariance",
    needs="lengths",
    needs_numbers=True,
)
def dtype(context: AuditContext) -> Check:
    """The weights are cast, the model run, and all put back."""
    dtype = context.scope.dtype
    name = str(dtype or context.subject.dtype).removeprefix("torch.")
    if dtype is None or dtype == context.subject.dtype:
        return untested(f"Other dtypes than {name}: none was given (AuditScope(dtype=…)).")
    cast = f"In {name}"
    told = _cast_fault(context, context.base, context.out, cast)
    if told.verdict is not Verdict.PASS:
        return told
    for case, out in [*context.other_cases()][-1:]:  # the longest, for a run that is cast is slow
        found = _cast_fault(context, case, out, f"{cast}, {case.at_length}")
        if found.verdict in (Verdict.FAIL, Verdict.WARN):
            asked = context.was_asked_for(case.valid.shape[1])
            return found if asked else untested(found.evidence)
    return told


def _cast_fault(context: AuditContext, usual: Case, in_own: Tensor, cast: str) -> Check:
    """The answer for one batch, of which `in_own` is the output in the module's own dtype."""
    dtype, x = context.scope.dtype, usual.x
    assert dtype is not None
    case = replace(usual, x=x.to(dtype)) if x.is_floating_point() else usual
    with context.subject.weights(lambda weight: weight.to(dtype)):
        try:
            out = context.subject.run(case)
        except ModelFault as fault:
            answer = raised(fault, cast)
            return answer.because(diagnose("overflow")) if "overflow" in str(fault) else answer
        real = case.valid if out.ndim > 2 else case.valid.any(dim=1)
        if not bool(out[real].isfinite().all()):
            text = f"{cast} real rows are NaN or inf."
            return fails(text).because(diagnose("saturated", sure=False))
        found = _cast_leak(context, case) or padding.find_fault(context, case, out)
    if found is not None:
        return found.but(evidence=f"{cast}: {found.evidence}")
    apart: Gap = gap(out, in_own, case.valid)
    odd = " A mask of another dtype is passed." if _mixed(case, out.dtype) else ""
    if apart.amount > 10 * TOLERANCE.get(dtype, 3e-2):
        text = f"{cast} real rows differ by {apart.amount:.2g} from {context.subject.dtype}.{odd}"
        return Check(Verdict.WARN, text, amount=apart.amount)
    return passes(f"{cast} it also holds; outputs differ by {apart.amount:.1g}.{odd}")


def _cast_leak(context: AuditContext, case: Case) -> Check | None:
    for number, layer in enumerate(maps_of(context.subject, case).layers):
        allowed = context.intent(case, number)
        seen = layer.judged(allowed, case.valid)
        judged = case.valid & allowed.any(dim=-1) & ~allowed.all(dim=-1)
        mass = float(seen.leak.masked_fill(seen.nan & judged[:, None], 1.0).max())
        if mass > MASS:
            text = f"layer {number} gives {mass:.2g} of a row to forbidden keys."
            return fails(text, layer=number).because(diagnose("constant", sure=False))
    return None


def _mixed(case: Case, dtype: object) -> bool:
    floats = [one for _, one in tensors_in(case.passed) if one.is_floating_point()]
    return any(one.dtype != dtype for one in floats)
