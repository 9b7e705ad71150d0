"""Whether a changed token moves an output that may not know of it; without gradients."""

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.faults.changed_tokens import MOST_IF_LONG, find_fault, finite_rows
from viz_encoder.audit.measure.changes import gap
from viz_encoder.audit.measure.setting import LONG, Case, ModelFault
from viz_encoder.audit.measure.token_axis import by_token, from_tokens
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, fails, passes, untested
from viz_encoder.errors import InputError

OTHER_INPUTS, SIZES = 4, (1, 4)  # in which padding alone is changed


@question(
    "Changed tokens",
    Evidence.LINKS,
    after="CALL PASSED SPOILED WEIGHTS gradient",
    compares=True,
    judges=True,
)
def perturbation(context: AuditContext) -> Check:
    """Each position in turn, by a little and by a lot, in all samples at once."""
    if not context.has_tokens:
        return untested(
            f"Changed tokens: an input {tuple(context.base.x.shape)} has no axis of "
            f"{context.base.valid.shape[1]} tokens."
        )
    n_tokens = context.base.valid.shape[1]
    some = f" ({MOST_IF_LONG} of {n_tokens:,} positions were tried.)" if n_tokens > LONG else ""
    found = find_fault(context, context.base, context.out) or _of_padding(context)
    if found is not None:
        return _of_the_kept_score(context, found)
    return passes(
        "Changing tokens, by 1 and by 30 times their size, moves only outputs that may depend on "
        f"them.{some}{context.widened}"
    )


def _of_the_kept_score(context: AuditContext, found: Check) -> Check:
    """Masked scores near 0 explain a leak that only larger inputs show."""
    kept = context.answers["constants"]
    small = kept.code == "constant" and kept.amount is not None and -100 < kept.amount < 0
    if small and context.passed("gradient") and found.verdict.is_red and not found.code:
        return found.but(code=kept.code, cause=kept.cause, cure=kept.cure)
    return found


def _of_padding(context: AuditContext) -> Check | None:
    """Padding that only other real tokens bring in: those that choose which places are read."""
    case, setting = context.base, context.setting
    floats = case.x.is_floating_point() and not setting.reads_input
    if not (case.padded and floats and context.passed("batch_independence", "constants")):
        return None
    draws = [(seed + 1, size) for seed in range(OTHER_INPUTS) for size in SIZES]
    if case.valid.shape[1] > LONG:  # one batch, as all else is run: of masks of T × T no more
        draws = draws[-1:]
    plain = [setting.case(case.valid, seed=setting.seed + seed).x * size for seed, size in draws]
    changed = [_other_padding(case, x, setting.seed) for x in plain]
    valid = case.valid.repeat(len(plain), 1)
    try:
        out, other = (
            context.subject.run(setting.case(valid, x=torch.cat(x))) for x in (plain, changed)
        )
    except (ModelFault, InputError):
        return None
    apart_from = ~(context.may(case) & ~case.valid[:, None, :]).any(dim=2)
    rows = apart_from if context.is_pooled else apart_from & case.judged
    apart = gap(out, other, rows.repeat(len(plain), 1) & finite_rows(out) & finite_rows(other))
    if apart.amount <= context.tolerance(out):
        return None
    sample = apart.sample % len(case.valid)
    text = (
        f"Where real tokens are others, changing padding moves token {apart.query} of sample "
        f"{sample}, which may not depend on it, by {apart.amount:.2g}."
    )
    found = fails(text, sample=sample, query=apart.query, amount=apart.amount)
    return found.because(diagnose("sampled", sure=False))


def _other_padding(case: Case, x: Tensor, seed: int) -> Tensor:
    """The inputs with other content wherever there is padding."""
    tokens = by_token(x, case.valid.shape[1]).clone()
    noise = torch.randn(tokens.shape, generator=torch.Generator().manual_seed(seed + 7))
    return from_tokens(torch.where(case.valid[..., None], tokens, noise.to(tokens)), x)
