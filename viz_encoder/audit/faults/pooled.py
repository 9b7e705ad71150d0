"""Pooled vectors of one batch that are made of padding, or of other tokens than are meant."""

from contextlib import suppress
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.audit.arguments import LAST
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.pooling_cause import (
    amounts_of,
    by_places,
    is_divided_by_all,
    one_row_alone,
)
from viz_encoder.audit.faults.cut_samples import of_left_out
from viz_encoder.audit.measure.changes import Gap, first_nonfinite, gap
from viz_encoder.audit.measure.setting import GRADIENT, Case, called
from viz_encoder.audit.missing_links import TokenFlags, rows_never_pooled, told_place
from viz_encoder.audit.report import Check, Diagnosis, Verdict, fails
from viz_encoder.errors import InputError

POOLED = {  # what a pooled vector equals → what it should be made of
    "the mean over all rows, padding too": "(out * m).sum(1) / m.sum(1), with m = valid[..., None]",
    "the maximum over all rows, padding too": "out.masked_fill(~valid[..., None], -inf).amax(1)",
    "the last row, padding or not": "out[torch.arange(len(out)), valid.sum(1) - 1]",
}


def find_fault(context: AuditContext, case: Case, out: Tensor) -> Check | None:
    """The largest difference of a pooled vector alone; None where they agree."""
    if context.scope.pooled is None or not case.padded:
        return None
    whole = _pool(context, case, out)
    bad = case.valid.any(dim=1) & ~whole.isfinite().all(dim=-1)
    if bool(bad.any()) and first_nonfinite(out, case) is None:
        sample = int(bad.nonzero()[0])
        return fails(f"The pooled vector of sample {sample} is NaN.", sample=sample)
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
    answer = fails(text, code="pooling", sample=worst.sample, amount=worst.amount)
    for what, cure in POOLED.items():
        if torch.allclose(whole, _candidate(out, what), atol=context.tolerance(whole), rtol=0):
            return answer.but(cause=f"it is {what}.", cure=cure)
    if (found := by_places(context, case, worst.sample)) is not None:
        return answer.because(found)
    if cause := _how_padding_counts(context, case, whole):
        return answer.but(cause=cause, cure=diagnose("pooling").cure)
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


def find_other_tokens_at(context: AuditContext, case: Case) -> Check | None:
    """The same on another batch, if it is said which tokens are pooled there."""
    asked = context.answers.get("pooled_tokens")
    known = asked is not None and (asked.verdict.is_red or asked.verdict is Verdict.NOT_TESTED)
    if context.scope.pool_over is None or known:
        return None
    with suppress(InputError):
        wanted, amounts = wanted_tokens(context, case), amounts_of(context, case)
        return None if amounts is None else find_other_tokens(context, case, wanted, amounts)
    return None


def find_other_tokens(
    context: AuditContext, case: Case, wanted: TokenFlags, amounts: Float[Tensor, "batch token"]
) -> Check | None:
    """A token that is pooled and should not be, or one that should be and is not."""
    over = amounts.masked_fill(wanted, 0.0)
    if float(over.max()) > GRADIENT:
        sample, query = divmod(int(over.argmax()), over.shape[1])
        kind = "token" if bool(case.valid[sample, query]) else "padding"
        text = (
            f"The pooled vector of sample {sample} also depends on {kind} {query}, which "
            f"should be left out: its gradient is {float(over.max()):.2g} of the largest."
        )
        answer = fails(text, sample=sample, query=query, amount=float(over.max()))
        return answer.because(by_places(context, case, sample) or _special(wanted))
    if not context.is_pooled and (none := _of_no_token(wanted, amounts)) is not None:
        return none
    return _find_lost(context, case, wanted)


def _of_no_token(wanted: TokenFlags, amounts: Float[Tensor, "batch token"]) -> Check | None:
    empty = wanted.any(dim=1) & ~(amounts > GRADIENT).any(dim=1)
    if not bool(empty.any()):
        return None
    sample = int(empty.nonzero()[0])
    text = f"The pooled vector of sample {sample} depends on no token."
    return fails(text, sample=sample)


def _find_lost(context: AuditContext, case: Case, wanted: TokenFlags) -> Check | None:
    """A token that is meant to be pooled, and is not."""
    lost = rows_never_pooled(context, case, wanted)
    if context.scope.may_leave_out or not bool(lost.any()):
        return None
    sample, query = (int(n) for n in lost.nonzero()[0])
    text = (
        f"The pooled vector of sample {sample} never changes with the row of "
        f"{told_place(case, sample, query)} which should be pooled; of {int(wanted.sum())} such "
        f"tokens {int(lost.sum())} are left out."
    )
    cure = (
        "Compare the mask that your pooling takes with pool_over(valid); if those tokens are meant "
        f"to be left out, let pool_over= leave them out, too: of the last row alone it is {LAST}."
    )
    found = fails(text, cure=cure, sample=sample, query=query, amount=0.0)
    return found.but(cause=one_row_alone(case, wanted & ~lost))


def _special(wanted: TokenFlags) -> Diagnosis:
    """That other tokens are pooled, too; of one token that is meant there is no mean to take."""
    found = diagnose("pooled_special")
    if bool((wanted.sum(dim=1) > 1).any()):
        return found
    first = bool(wanted[:, 0].all())
    row = "out[:, 0]" if first else "out[torch.arange(len(out)), pool_over(valid).long().argmax(1)]"
    return found._replace(cure=f"Take that one row of the output: {row}.")


def wanted_tokens(context: AuditContext, case: Case) -> TokenFlags:
    """The tokens that are to be pooled.

    Raises:
        InputError: pool_over gave something else.
    """
    assert context.scope.pool_over is not None
    given = context.scope.pool_over(case.valid)
    fits = isinstance(given, Tensor) and given.dtype == torch.bool
    if not fits or given.shape != case.valid.shape:
        what = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
        raise InputError(
            f"AuditScope(pool_over=…) gave {what}; it must give a torch.bool tensor (batch, token) "
            f"= {tuple(case.valid.shape)}, True = is pooled."
        )
    return given
