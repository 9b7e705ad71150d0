"""Whether attention's results are thrown away, or its weights go to what is filled with zeros."""

from collections.abc import Sequence

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.after_attention import Used, used_results
from viz_encoder.audit.measure.setting import MASS, Case
from viz_encoder.audit.report import Check, Verdict
from viz_encoder.shown import counted

MORE = 20  # further inputs that may use what one does not
EXACT = (torch.float32, torch.float64)  # in half precision a gradient may vanish by itself


def find_thrown_away(context: AuditContext, case: Case) -> Check | None:
    """The first call of which some rows have no effect, or some weights, where others have.

    Rows that other tokens in these places do not lose are left out by content, as in pruning.
    """
    subject, maps = context.subject, context.maps
    if context.is_pooled or context.scope.may_leave_out or subject.dtype not in EXACT:
        return None
    if subject.reorders or not (maps.layers or maps.cross or maps.left_out):
        return None
    used = used_results(subject, case)
    found = _first(context, case, used)
    for seed in () if context.setting.fixed else range(1, MORE + 1):
        if found is None:
            break
        other = used_results(subject, context.setting.case(case.valid, seed=seed))
        used = [one.or_in(more) for one, more in zip(used, other, strict=False)]
        found = _first(context, case, used)
    return found


def _first(context: AuditContext, case: Case, used: Sequence[Used]) -> Check | None:
    for number, one in enumerate(used):
        rows = _rows(context, case, one)
        found = _dropped(number, one, rows, case.valid) if rows is not None else None
        found = found or (_filled(number, one, case) if context.maps.left_out else None)
        if found is not None:
            return found
    return None


def _rows(context: AuditContext, case: Case, one: Used) -> Tensor | None:
    """The rows that count: real tokens that may look at anything; None where it is not known."""
    crossed = context.crossed(case.valid)
    if crossed is not None and crossed.shape[1:] == (one.rows.shape[1], one.n_keys):
        return crossed.any(dim=2) & case.judged
    itself = one.n_keys >= one.rows.shape[1] and not context.maps.cross
    return case.judged if itself else None


def _dropped(number: int, one: Used, rows: Tensor, valid: Tensor) -> Check | None:
    """Rows but the last of each sample, which a model that moves its outputs on leaves out."""
    last = rows & (valid.flip(1).cumsum(dim=1).flip(1) == 1)
    lost = rows & ~one.rows
    if not bool((lost & ~last).any()) or not bool((rows & one.rows).any()):
        return None
    sample, query = (int(n) for n in lost.nonzero()[0])
    text = (
        f"What attention gives token {query} of sample {sample} reaches no output, though what it "
        f"gives others does (call {number}, counted from 0; {counted(int(lost.sum()), 'row')} of "
        f"{int(rows.sum())})."
    )
    found = Check(Verdict.FAIL, text, sample=sample, query=query, amount=0.0)
    return found.because(diagnose("rows_dropped"))


def _filled(number: int, one: Used, case: Case) -> Check | None:
    """Of a band of keys a query: those past the ends, where some rows have none."""
    if one.cells is None or one.weights is None or one.n_keys >= one.rows.shape[1]:
        return None
    share = one.weights.masked_fill(one.cells, 0.0).sum(dim=2)
    at = (share > MASS) & case.judged & one.rows  # a row with no key at all may be set to 0
    if not bool(at.any()) or not bool((case.judged & ~at).any()):
        return None
    sample, query = (int(n) for n in at.nonzero()[0])
    amount = float(share[sample, query])
    text = (
        f"In row {query} of sample {sample}, {amount:.3g} of the attention goes to keys that hold "
        f"nothing, and in other rows none does (call {number}, counted from 0)."
    )
    found = Check(Verdict.FAIL, text, sample=sample, query=query, amount=amount)
    return found.because(diagnose("open_slots"))
