"""Whether samples know nothing of one another: alone, in another order, beside an empty one."""

from contextlib import suppress

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.mixing import diagnose_mixing
from viz_encoder.audit.measure.changes import Gap, first_nonfinite, gap
from viz_encoder.audit.measure.gradients import NoGradient, gradients_of
from viz_encoder.audit.measure.setting import GRADIENT, TOLERANCE, Case, ModelFault
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Learned, Verdict, fails, passes, untested
from viz_encoder.errors import InputError

EVEN = 4
MOST_ROWS = 8  # of a sample, to ask whether their gradients cross samples


@question("Samples do not mix", Evidence.SPOILED, after="runs", one_sided=True, needs_numbers=True)
def batch_independence(context: AuditContext) -> Check:
    """Each sample in a batch and alone; what rounding makes of it is the noise of later checks.

    Then in a batch of four, whose halves some code joins.
    """
    found = _fault(context, context.full)
    if isinstance(found, Check):
        return found
    noise = Learned(noise=found)
    with suppress(ModelFault, InputError):
        even = context.setting.case(torch.ones(EVEN, context.full.valid.shape[1]) > 0)
        other = _fault(context, even)
        if isinstance(other, Check):
            text = f"In a batch of {EVEN}: {other.evidence}"
            return other.but(evidence=text, learned=noise._replace(shared=other.learned.shared))
    text = f"Outputs alone and in a batch, without padding, differ by {found:.1g}."
    return passes(text).but(learned=noise)


def _fault(context: AuditContext, full: Case) -> Check | float:
    """What is wrong in that batch; how far its samples move, if that is only rounding."""
    together = context.subject.run(full)
    if (place := first_nonfinite(together, full)) is not None:
        sample, query = place
        text = f"Without any padding, output row {query} of sample {sample} is NaN or inf."
        return fails(text, sample=sample, query=query)
    worst = Gap(0.0, 0, 0)
    for sample in range(len(full.valid)):
        alone = context.setting.alone(full, sample)
        assert alone is not None
        apart = gap(together[sample : sample + 1], context.subject.run(alone))
        worst = max(worst, apart._replace(sample=sample))
    limit = 1e3 * max(TOLERANCE.get(one, 1e-5) for one in (together.dtype, context.subject.dtype))
    if worst.amount <= limit:
        return worst.amount
    text = (
        f"Sample {worst.sample} changes by {worst.amount:.2g} with its batch neighbors, without "
        "any padding."
    )
    found = fails(text).at(worst)
    if _by_gradient(context, full) is False and _by_content(context, full, together, worst.sample):
        cause = (
            "consistent with: a capacity shared by the batch (MoE); no gradient crosses samples."
        )
        return found.but(verdict=Verdict.WARN, cause=cause, learned=Learned(shared=True))
    if _are_halves(context, full, together):
        return found.because(diagnose("halves"))
    return found.because(diagnose_mixing(context, full, together))


def _are_halves(context: AuditContext, full: Case, together: Tensor) -> bool:
    """Whether each sample moves with the one half a batch away, and with no other."""
    half, odd = divmod(len(full.valid), 2)
    if odd or half < 2 or not full.x.is_floating_point():
        return False
    for sample in range(len(full.valid)):
        other = full.x.clone()
        other[sample] *= 1.1
        moved = context.subject.run(full, x=other)
        rows = (moved - together).abs().flatten(1).amax(dim=1) > 0
        if rows.nonzero()[:, 0].tolist() != sorted((sample, (sample + half) % (2 * half))):
            return False
    return True


def _by_content(context: AuditContext, full: Case, together: Tensor, sample: int) -> bool:
    """Whether it matters what the neighbors are, and not only that there are some."""
    for seed in range(1, 6):
        x = context.setting.make_x(context.setting.seed + seed, *full.valid.shape)
        x[sample] = full.x[sample]
        moved = context.subject.run(full, x=x)
        if gap(moved[sample : sample + 1], together[sample : sample + 1]).amount > 0:
            return True
    return False


def _by_gradient(context: AuditContext, full: Case) -> bool | None:
    """Whether a gradient crosses samples; None where there are none."""
    n_samples, n_tokens = full.valid.shape
    tokens = range(0, 1 if context.is_pooled else n_tokens, max(1, n_tokens // MOST_ROWS))
    rows = [(sample, token) for sample in range(n_samples) for token in tokens]
    try:
        found = gradients_of(context.subject, full, rows).relative()
    except NoGradient:
        return None
    own = torch.tensor([sample for sample, _ in rows], device=found.device)
    other = own[:, None] != torch.arange(n_samples, device=found.device)
    return bool((found.amax(dim=-1)[other].nan_to_num(1.0) > GRADIENT).any())


@question(
    "Order of the batch",
    Evidence.COMPANY,
    after="CALL PASSED batch_independence WEIGHTS LINKS padding_invariance",
    compares=True,
)
def permutation(context: AuditContext) -> Check:
    """The batch in another order must give the same outputs in that order."""
    case = context.base
    order = torch.arange(len(case.valid), device=case.valid.device).roll(1)
    turned = context.setting.case(case.valid[order], x=case.x[order])
    out = context.subject.run(turned)
    apart = gap(out, context.out[order], turned.valid)
    if apart.amount <= context.tolerance(out):
        return passes("The samples in another order give the same outputs in that order.")
    text = (
        f"Sample {int(order[apart.sample])} changes by {apart.amount:.2g} when the batch is in "
        "another order."
    )
    return fails(text).at(apart).because(diagnose_mixing(context, turned, out))


@question(
    "A sample of nothing but padding",
    Evidence.BATCHES,
    after="runs SPOILED maps LINKS permutation",
    compares=True,
)
def empty_sample(context: AuditContext) -> Check:
    """The others must stay as they are; what the empty one gives is told, and is no fault."""
    if not context.setting.pads:
        return untested("A sample of nothing but padding: your valid has no padding at its ends.")
    own = _own(context)
    if own is not None:
        return own
    valid = context.base.valid.clone()
    empty = int(valid.sum(dim=1).argmin())
    valid[empty] = False
    case = context.setting.case(valid, x=context.base.x)
    try:
        out = context.subject.run(case)
    except ModelFault as fault:
        return Check(Verdict.INFO, f"A sample of nothing but padding is refused: {fault}.")
    rows = valid if out.ndim > 2 else valid.any(dim=1, keepdim=True)
    apart = gap(out, context.out, rows)
    if apart.amount > context.tolerance(context.out):
        text = (
            f"With sample {empty} all padding, token {apart.query} of sample {apart.sample} "
            f"changes by {apart.amount:.2g}."
        )
        found = fails(text).at(apart)
        spread = not bool(out.isfinite().all())
        return found.because(diagnose("empty_row", sure=False)) if spread else found
    kind = _kind(out[empty])
    text = f"A sample of nothing but padding gives {kind}; the others stay as they are."
    trained = "" if context.grad_fault else _kind(context.subject.run(case, grad=True)[empty])
    if "NaN" not in (kind, trained):
        return passes(text)
    text += f" With gradients on, it gives {trained}." if trained not in (kind, "") else ""
    return Check(Verdict.INFO, text, cure="Drop such samples before the model.", sample=empty)


def _kind(out: Tensor) -> str:
    """What the rows of one sample are, in a word."""
    if bool(out.isnan().any()):
        return "NaN"
    return "zeros" if bool((out == 0).all()) else "numbers"


def _own(context: AuditContext) -> Check | None:
    """The caller's own valid may hold such a sample: then its NaN is in the caller's data."""
    rows = (~context.base.valid.any(dim=1)).nonzero()[:, 0].tolist()
    for sample in rows:
        if bool(context.out[sample].isnan().any()):
            text = f"Sample {sample} of your valid is all padding, and its output is NaN."
            cure = (
                "Drop such samples, or let them attend to one token: ignore & valid.any(1, True)."
            )
            return fails(text, sample=sample, cure=cure)
    return (
        passes("Your valid holds a sample of nothing but padding; it gives no NaN.")
        if rows
        else None
    )
