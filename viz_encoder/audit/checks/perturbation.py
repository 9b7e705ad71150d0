"""Whether a changed token moves an output that may not know of it; without gradients."""

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import Answer, AuditContext, Gap, Question, gap, passes
from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.report import Verdict

MOST = 32  # positions changed, spread evenly where there are more


def ask(context: AuditContext) -> Answer:
    """Each position in turn, by a little and by a lot, in all samples at once."""
    return find_fault(context, context.base, context.out) or passes(
        "Changed tokens, by 1 and by 30 times their size, move only outputs that may know of them."
    )


def find_fault(context: AuditContext, case: Case, out: Tensor, most: int = MOST) -> Answer | None:
    """The largest movement that may not be; None where there is none."""
    may = context.may(case)
    limit = context.tolerance(out)
    worst, at = Gap(limit, 0, 0), (0, 0)
    for key in _positions(context, case, most):
        for size in (1, 30) if case.x.is_floating_point() else (1,):
            moved = context.subject.run(case, x=_changed(case, key, size, context.setting.seed))
            rows = _still(context, case, may, key)
            if size > 1 and moved.ndim > 2:  # an overflow is told by "poisoned_padding"
                rows = rows & moved.isfinite().flatten(2).all(dim=-1)
            apart = gap(moved, out, rows)
            if apart.amount > worst.amount:
                worst, at = apart, (key, size)
    if worst.amount <= limit:
        return None
    key, size = at
    what = "padding" if not bool(case.valid[worst.sample, key]) else "token"
    times = f" by {size} times its size" if size > 1 else ""
    text = (
        f"Changing {what} {key}{times} moves token {worst.query} of sample {worst.sample} by "
        f"{worst.amount:.2g}; it may not know of it."
    )
    return Answer(
        Verdict.FAIL, text, sample=worst.sample, query=worst.query, key=key, amount=worst.amount
    )


def _positions(context: AuditContext, case: Case, most: int) -> list[int]:
    n_tokens = case.valid.shape[1]
    picks = torch.linspace(0, n_tokens - 1, min(most, n_tokens)).round().int().tolist()
    if case.x.is_floating_point():
        return picks
    # A model may make its mask, or its positions, of the ids: another id there is a token there.
    return [key for key in picks if bool(case.valid[:, key].all())]


def _still(context: AuditContext, case: Case, may: Tensor, key: int) -> Tensor:
    """The rows that may not move."""
    rows = ~may[:, :, key]
    return rows if context.is_pooled else rows & case.valid & _settled(case)


def _settled(case: Case) -> Tensor:
    """Rows with something to look at in every layer; of the others nothing is known."""
    return torch.stack([one.any(dim=-1) for one in case.allowed]).all(dim=0)


def _changed(case: Case, key: int, size: int, seed: int) -> Tensor:
    x = case.x.clone()
    if not x.is_floating_point():
        x[:, key] = torch.where(x[:, key] + 1 > x.max(), x.min() + 1, x[:, key] + 1)
        return x
    generator = torch.Generator().manual_seed(seed + 7 + key)
    noise = torch.randn(x[:, key].shape, generator=generator).to(x)
    x[:, key] = x[:, key] + size * noise
    return x


QUESTION = Question(
    "perturbation",
    "Changed tokens",
    ask,
    ("runs", "static", "constants", "batch_independence", "maps", "row_sums", "gradient"),
)
