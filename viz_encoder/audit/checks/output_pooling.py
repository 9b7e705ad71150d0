"""Whether the pooled vector of a sample changes with its padding."""

from functools import partial

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.cut_samples import of_left_out
from viz_encoder.audit.diagnose.causes import CAUSES
from viz_encoder.audit.diagnose.pooling_cause import amounts_of, by_places, is_divided_by_all
from viz_encoder.audit.measure.difference import Gap, first_nonfinite, gap
from viz_encoder.audit.measure.setting import GRADIENT, Case, called
from viz_encoder.audit.question import question
from viz_encoder.audit.report import Check, Verdict, passes, untested

POOLED = {  # what a pooled vector equals → what it should be made of
    "the mean over all rows, padding too": "(out * m).sum(1) / m.sum(1), with m = valid[..., None]",
    "the maximum over all rows, padding too": "out.masked_fill(~valid[..., None], -inf).amax(1)",
    "the last row, padding or not": "out[torch.arange(len(out)), valid.sum(1) - 1]",
}


@question("Pooling", after="runs padding_invariance", order=110, compares=True)
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
    found = find_fault(context, context.base, context.out)
    return found or passes("The pooled vectors are the same alone and with padding.")


def find_fault(context: AuditContext, case: Case, out: Tensor) -> Check | None:
    """The largest difference of a pooled vector alone; None where they agree."""
    if context.scope.pooled is None or not case.padded:
        return None
    whole = _pool(context, case, out)
    bad = case.valid.any(dim=1) & ~whole.isfinite().all(dim=-1)
    if bool(bad.any()) and first_nonfinite(out, case) is None:
        sample = int(bad.nonzero()[0])
        return Check(Verdict.FAIL, f"The pooled vector of sample {sample} is NaN.", sample=sample)
    worst = Gap(0.0, 0, 0)
    for sample in range(len(case.valid)):
        alone = context.setting.alone(case, sample)
        if alone is not None:
            apart = gap(_pooled(context, alone), whole[sample : sample + 1])
            worst = max(worst, apart._replace(sample=sample))
    if worst.amount <= context.tolerance(whole):
        return None
    if (left_out := of_left_out(context, case, worst, "The pooled vector")) is not None:
        return left_out
    text = (
        f"The pooled vector of sample {worst.sample} changes by {worst.amount:.2g} with its "
        "padding."
    )
    answer = Check(Verdict.FAIL, text, code="pooling", sample=worst.sample, amount=worst.amount)
    for what, cure in POOLED.items():
        if torch.allclose(whole, _candidate(out, what), atol=context.tolerance(whole), rtol=0):
            return answer.but(cause=f"it is {what}.", cure=cure)
    if (found := by_places(context, case, worst.sample)) is not None:
        return answer.because(found)
    if cause := _how_padding_counts(context, case, whole):
        return answer.but(cause=cause, cure=CAUSES["pooling"].cure)
    return answer.but(code="", cause="not known.")


def _how_padding_counts(context: AuditContext, case: Case, whole: Tensor) -> str:
    """By its rows, or by their number alone; "" if by neither."""
    amounts = amounts_of(context, case)
    if amounts is not None and bool((amounts[~case.valid] > GRADIENT).any()):
        return "padding has a share in it."
    if is_divided_by_all(context, case, whole, partial(_pooled, context)):
        return "its sum is divided by the number of all tokens, padding too."
    return ""


def _pooled(context: AuditContext, case: Case) -> Tensor:
    return _pool(context, case, context.subject.run(case))


def _pool(context: AuditContext, case: Case, out: Tensor) -> Tensor:
    assert context.scope.pooled is not None
    with torch.no_grad():
        return called(context.scope.pooled, "pooled(output, valid)", out, case.valid)


def _candidate(out: Tensor, what: str) -> Tensor:
    if "mean" in what:
        return out.mean(dim=1)
    return out.amax(dim=1) if "maximum" in what else out[:, -1]
