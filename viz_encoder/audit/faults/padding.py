"""Samples of one batch that are not the same alone as with padding."""

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import UNKNOWN, diagnose
from viz_encoder.audit.diagnose.mixing import by_first, by_moved_rows
from viz_encoder.audit.diagnose.pooling_cause import by_places, by_pooling, may_count_padding
from viz_encoder.audit.diagnose.right_on import is_right_on
from viz_encoder.audit.faults import gradients, weights
from viz_encoder.audit.faults.changed_tokens import find_ignored
from viz_encoder.audit.faults.cut_samples import (
    cut_samples,
    is_another_input,
    not_compared,
    of_left_out,
    positions_mend,
)
from viz_encoder.audit.measure.changes import gap
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.measure.token_axis import can_be_cut
from viz_encoder.audit.report import (
    Check,
    Diagnosis,
    Verdict,
    fails,
    is_sure,
    raised,
    untested,
)
from viz_encoder.shown import continued


def find_fault(context: AuditContext, case: Case, out: Tensor) -> Check | None:
    """The largest difference of a sample alone; None where they agree."""
    if not case.padded or not can_be_cut(case.x, case.valid.shape[1]):
        return None
    cut = cut_samples(context, case, out)
    worst = cut.worst
    alike = worst.amount <= context.tolerance(out)
    if alike:
        single = None if cut.refused and cut.n_compared else _in_a_batch_of_one(context, case, out)
        return single or not_compared(context, cut)
    if is_another_input(context, case, worst.sample):
        n_tokens = int(case.valid[worst.sample].sum())
        return untested(
            f"Alone and with padding: cut to its {n_tokens} tokens, sample {worst.sample} is "
            "another input to this model, which does not look there as intent(valid) says. If it "
            f"is meant to take {n_tokens} tokens, give AuditScope(lengths=[{n_tokens}])."
        )
    who = "output" if out.ndim == 2 else f"token {worst.query}"
    if (left_out := of_left_out(context, case, worst, who.capitalize())) is not None:
        return left_out
    text = (
        f"Sample {worst.sample} is not the same alone and with padding: its {who} differs by "
        f"{worst.amount:.2g}."
    )
    found = fails(text).at(worst)
    if (shown := _by_attention_alone(context, case, out, found)) is not None:
        return shown
    if (ignored := _ignored_alone(context, case, found)) is not None:
        return ignored
    if positions_mend(context, case):
        return found.because(diagnose("positions"))
    if not context.passed("gradient"):
        return found
    cause = by_first(context, case, out) or by_moved_rows(context, case, out)
    if cause is None and out.ndim == 2:
        cause = _of_pooled(context, case, out, worst.sample)
    return found.but(cause=_besides(context)) if cause is None else found.because(cause)


def _besides(context: AuditContext) -> str:
    """What may change a sample, though its attention is right or cannot be seen."""
    filled = "keys that fill up a window at its ends and are not masked, "
    return (
        "consistent with: positions counted from the padding, scores that depend on the padded "
        f"length, pooling over padding, {'' if context.maps.layers else filled}or a part besides "
        "attention that counts padded tokens, or reads what stands in their place, as a "
        "convolution does."
    )


def _of_pooled(context: AuditContext, case: Case, out: Tensor, sample: int) -> Diagnosis | None:
    """The cause of a pooled vector that differs; None where padding has no part in its pooling."""
    if (by_place := by_places(context, case, sample)) is not None:
        return by_place
    if _holds_on_the_right(context, case):
        return diagnose("positions", sure=False)
    return by_pooling(context, sure=False) if may_count_padding(context, case, out) else None


def _by_attention_alone(
    context: AuditContext, case: Case, out: Tensor, found: Check
) -> Check | None:
    """The answer where the sample's attention is wrong alone, and right with its padding."""
    assert found.sample is not None
    alone = context.setting.alone(case, found.sample)
    if alone is None or is_right_on(context, case) is False:
        return None
    shown = _fault_alone(context, alone)
    if shown is None:
        return None
    single = _in_a_batch_of_one(context, case, out)
    if single is not None and is_sure(single.cause):
        return single
    told = shown.evidence.replace(", sample 0:", ":").replace(" of sample 0", "")
    text = f"{found.evidence} Alone, {continued(told)}"
    cause = shown.cause or UNKNOWN.cause
    if shown.code and is_sure(cause) and single is None:
        cause = f"{cause[:-1]}; only where a batch has no padding."
    return shown.but(evidence=text, cause=cause, sample=found.sample, amount=found.amount)


def _fault_alone(context: AuditContext, alone: Case) -> Check | None:
    """What its maps show, or where there are none, its gradients."""
    maps = context.maps_on(alone)
    if maps.layers:
        return weights.find_fault(context, alone, maps)
    if context.is_pooled or isinstance(known := context.gradients_on(alone), str):
        return None
    return gradients.find_fault(context, alone, known) or gradients.find_lost(context, alone, known)


def _ignored_alone(context: AuditContext, case: Case, found: Check) -> Check | None:
    """The answer where the sample alone, at its own length, is the same whatever the input."""
    assert found.sample is not None
    alone = context.setting.alone(case, found.sample)
    if alone is None:
        return None
    ignored = find_ignored(context, alone, context.subject.run(alone))
    if ignored is None:
        return None
    text = (
        f"{found.evidence} Alone, at {alone.valid.shape[1]} tokens, {continued(ignored.evidence)}"
    )
    return found.but(evidence=text, code=ignored.code, cause=ignored.cause, cure=ignored.cure)


def _in_a_batch_of_one(context: AuditContext, case: Case, out: Tensor) -> Check | None:
    """The shortest padded sample alone, with its padding: a mask may be left out there."""
    counts = case.valid.sum(dim=1)
    sample = int(counts.masked_fill(counts == 0, case.valid.shape[1]).argmin())
    if not 0 < int(counts[sample]) < case.valid.shape[1] or len(counts) == 1:
        return None
    single = context.setting.whole(case, sample)
    try:
        apart = gap(context.subject.run(single), out[sample : sample + 1], single.valid)
    except ModelFault as fault:
        return raised(fault, "With a padded batch of one")
    if apart.amount <= context.tolerance(out):
        return None
    text = (
        f"Sample {sample} with its padding is not the same in a batch of one: token {apart.query} "
        f"differs by {apart.amount:.2g}."
    )
    found = fails(text, sample=sample, query=apart.query, amount=apart.amount)
    sure = is_right_on(context, single) is False and is_right_on(context, case) is True
    return found.because(diagnose("one_sample", sure=sure))


def _holds_on_the_right(context: AuditContext, case: Case) -> bool:
    """Whether padding stands before the tokens, and the model is right where it stands after."""
    if bool(case.valid[:, 0].all()) or not bool(case.valid[:, -1].all()):
        return False
    other = context.setting.case(context.setting.padding(case.valid.shape[1], left=False))
    try:
        found = find_fault(context, other, context.subject.run(other))
        return found is None or found.verdict is not Verdict.FAIL
    except ModelFault:
        return False
