"""Outputs of one batch that move with a token they may not know of, or with no input at all."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.part_cause import cure_of, jumping_parts
from viz_encoder.audit.diagnose.several_softmaxes import masked_later
from viz_encoder.audit.faults.advice import suggest_reading_ids
from viz_encoder.audit.measure.changes import Gap, first_nonfinite, gap
from viz_encoder.audit.measure.setting import LONG, Case, ModelFault
from viz_encoder.audit.measure.token_axis import by_token, from_tokens, has_tokens
from viz_encoder.audit.report import Check, fails
from viz_encoder.errors import InputError

MOST, MOST_IF_LONG = 32, 6  # positions changed, spread evenly where there are more


TOGETHER = 4096  # so many tokens at most are run at once


class ChangedToken(NamedTuple):
    """One position of all samples, changed by a multiple of its size."""

    key: int
    size: int


def find_fault(context: AuditContext, case: Case, out: Tensor, most: int = MOST) -> Check | None:
    """The largest movement that may not be; None where there is none."""
    if not has_tokens(case.x, case.valid.shape[1]):
        return None
    limit = context.tolerance(out)
    most = min(most, MOST_IF_LONG) if case.valid.shape[1] > LONG else most
    sizes = (1, 30) if case.x.is_floating_point() else (1,)
    changes = [ChangedToken(key, size) for key in _positions(context, case, most) for size in sizes]
    if not changes:
        return None
    still = _still(context, case, changes)
    if _all_hold_together(context, case, out, changes, still):
        return None
    worst, at, held = Gap(limit, 0, 0), changes[0], still[0]
    for change, rows in zip(changes, still, strict=True):
        moved = context.subject.run(case, x=_changed(case, change, context.setting.seed))
        apart = gap(moved, out, rows if change.size == 1 else rows & finite_rows(moved))
        if apart.amount > worst.amount:
            worst, at, held = apart, change, rows
    if worst.amount <= limit:
        return None
    what = "padding" if not bool(case.valid[worst.sample, at.key]) else "token"
    times = f" by {at.size} times its size" if at.size > 1 else ""
    text = (
        f"Changing {what} {at.key}{times} moves token {worst.query} of sample {worst.sample}, "
        f"which may not depend on it, by {worst.amount:.2g}."
    )
    found = fails(text, sample=worst.sample, query=worst.query, key=at.key, amount=worst.amount)
    if what == "padding" and context.passed("gradient") and context.maps.left_out:
        return found.because(diagnose("sampled", sure=False))  # no gradient shows what is chosen
    if not context.passed("maps", "gradient") or context.is_pooled:
        return suggest_reading_ids(context, found) if context.passed("gradient") else found
    moved, cure = _changed(case, at, context.setting.seed), cure_of(case, worst.sample, at.key)
    cause = jumping_parts(context, case, moved, held, cure=cure)
    cause = cause or masked_later(context, case)
    return found.because(cause) if cause else suggest_reading_ids(context, found)


def _means_the_same(
    context: AuditContext, case: Case, change: ChangedToken
) -> Bool[Tensor, " batch"]:
    """Samples whose intent, which reads the input, is the same after the change."""
    x = _changed(case, change, context.setting.seed)
    pairs = zip(context.setting.allowed(case.valid, x), case.allowed, strict=True)
    return torch.stack([(now == was).flatten(1).all(dim=1) for now, was in pairs]).all(dim=0)


def _all_hold_together(
    context: AuditContext, case: Case, out: Tensor, changes: Sequence[ChangedToken], still: Tensor
) -> bool:
    """Whether nothing moves where all changes are made in one batch, side by side.

    A short cut that only acquits: where anything moves, or cannot run so, each is made by itself.
    """
    n_changes = len(changes)
    if n_changes * case.valid.numel() > TOGETHER or not context.passed("batch_independence"):
        return False
    x = torch.cat([_changed(case, change, context.setting.seed) for change in changes])
    try:
        moved = context.subject.run(context.setting.case(case.valid.repeat(n_changes, 1), x=x))
    except (ModelFault, InputError):
        return False
    unmoved = out.repeat(n_changes, *[1] * (out.ndim - 1))
    if moved.shape != unmoved.shape:
        return False
    large = torch.tensor([change.size > 1 for change in changes], device=out.device)
    rows = still.flatten(0, 1) & (finite_rows(moved) | ~large.repeat_interleave(len(out))[:, None])
    return gap(moved, unmoved, rows).amount <= context.tolerance(out)


def _still(
    context: AuditContext, case: Case, changes: Sequence[ChangedToken]
) -> Bool[Tensor, "change batch row"]:
    """The rows that may not move when each change is made."""
    rows = ~context.may(case)[:, :, [change.key for change in changes]].permute(2, 0, 1)
    if context.setting.reads_input:
        same = torch.stack([_means_the_same(context, case, one) for one in changes])
        rows = rows & same[..., None]
    return rows if context.is_pooled else rows & case.judged


def finite_rows(moved: Tensor) -> Bool[Tensor, "batch row"]:
    """Rows without an overflow, which is told by "poisoned_padding"; of pooled outputs all."""
    if moved.ndim == 2:
        return moved.new_ones(len(moved), 1, dtype=torch.bool)
    return moved.isfinite().flatten(2).all(dim=-1)


def _positions(context: AuditContext, case: Case, most: int) -> list[int]:
    n_tokens = case.valid.shape[1]
    picks = torch.linspace(0, n_tokens - 1, min(most, n_tokens)).round().int().tolist()
    if case.x.is_floating_point():
        return picks
    # A model may make its mask, or its positions, of the ids: another id there is a token there.
    return [key for key in picks if bool(case.valid[:, key].all())]


def _changed(case: Case, change: ChangedToken, seed: int) -> Tensor:
    x, (key, size) = case.x.clone(), change
    if not x.is_floating_point():
        x[:, key] = torch.where(x[:, key] + 1 > x.max(), x.min() + 1, x[:, key] + 1)
        return x
    tokens = by_token(x, case.valid.shape[1]).clone()
    generator = torch.Generator().manual_seed(seed + 7 + key)
    noise = torch.randn(tokens[:, key].shape, generator=generator).to(tokens)
    tokens[:, key] = tokens[:, key] + size * noise
    return from_tokens(tokens, x)


def find_ignored(context: AuditContext, case: Case, out: Tensor) -> Check | None:
    """The fault that other inputs give the very same output; None where any of it differs."""
    if context.setting.fixed or first_nonfinite(out, case) is not None:
        return None  # there is one batch, or NaN, which is as it is
    with suppress(ModelFault, InputError):
        other = context.setting.case(case.valid, seed=context.setting.seed + 1)
        if torch.equal(other.x, case.x) or gap(context.subject.run(other), out, case.valid).amount:
            return None
        text = "The output does not depend on the input; with other inputs it is the same."
        return fails(text, amount=0.0).because(diagnose("input_unused", sure=False))
    return None
