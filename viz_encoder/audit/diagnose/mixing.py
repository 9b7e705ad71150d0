"""Why samples of one batch change each other: each explanation is tried, and named if it holds."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose, either
from viz_encoder.audit.diagnose.right_on import is_right_on
from viz_encoder.audit.measure.changes import gap, own_rows
from viz_encoder.audit.measure.fixed_keys import attended
from viz_encoder.audit.measure.parts import mixing_parts
from viz_encoder.audit.measure.places import places_of
from viz_encoder.audit.measure.setting import GRADIENT, Case, ModelFault
from viz_encoder.audit.report import Diagnosis
from viz_encoder.errors import TraceError
from viz_encoder.trace import record
from viz_encoder.trace.recorded_call import RecordedCall

BORDERS = "In one row without a mask: cu_seqlens = F.pad(lengths.cumsum(0), (1, 0))."
UNKNOWN = Diagnosis(
    "mixing",
    "not known: neither swapped axes, nor an earlier batch's mask, nor a mean or a count of the "
    "whole batch explains it.",
    "To narrow it down, look for what runs over dimension 0: mean, sum, sort, view or reshape; "
    "then run each part of the model on a batch and on its samples alone.",
)


class Links(NamedTuple):
    """Which tokens of which samples each row (sample, query) depends on."""

    rows: Sequence[tuple[int, int]]
    depends: Bool[Tensor, "row batch key"]


def diagnose_mixing(context: AuditContext, case: Case, out: Tensor) -> Diagnosis:
    """The first of the explanations that holds on this case."""
    known = by_order(context, case, out) or _of_one_sample(context, case)
    if known is not None:
        return known
    found = _depends(context, case)
    return (
        (_by_axes(found) if found else None)
        or _by_earlier_mask(context, case)
        or _by_rows(context, case)
        or (_by_packed(context, case, found) if found else None)
        or _by_divisor(context, case, out)
        or by_first(context, case, out)
        or (_over_batch(context, case, found) if found else None)
        or UNKNOWN
    )


def _depends(context: AuditContext, case: Case) -> Links | None:
    """On which tokens each row depends; None if there are no gradients, or outputs are pooled."""
    found = "pooled" if context.is_pooled else context.gradients_on(case)
    if isinstance(found, str):
        return None
    return Links(found.rows, found.relative().nan_to_num(0.0) > GRADIENT)


def _alone(context: AuditContext, case: Case) -> list[Tensor]:
    """The output of each sample by itself; none where one cannot run so."""
    with suppress(ModelFault):
        each = [context.setting.alone(case, sample) for sample in range(len(case.valid))]
        return [context.subject.run(one) for one in each if one is not None] if all(each) else []
    return []


def by_order(context: AuditContext, case: Case, out: Tensor) -> Diagnosis | None:
    """Whether every output is that of one sample alone, and not of its own."""
    limit, order, alone = context.tolerance(out), list[int](), _alone(context, case)
    for sample in range(len(out) if alone else 0):
        fits = [
            other
            for other, one in enumerate(alone)
            if gap(own_rows(out, sample, case.valid[other]), one).amount <= limit
        ]
        if not fits:
            return None
        order.append(sample if sample in fits else fits[0])
    pairs = [f"{a} gets that of {b}" for a, b in enumerate(order) if a != b]
    return diagnose("sample_order", more=f" (sample {', sample '.join(pairs)})") if pairs else None


def by_moved_rows(context: AuditContext, case: Case, out: Tensor) -> Diagnosis | None:
    """Whether the rows of each sample alone are in its output, but not in their places."""
    moved = False
    for sample, real in enumerate(case.valid):
        single = None if out.ndim < 3 else context.setting.alone(case, sample)
        if single is None:  # its padding cannot be cut off
            continue
        try:
            alone = context.subject.run(single)[0].flatten(1)
        except ModelFault:
            return None
        away = torch.cdist(out[sample].flatten(1).float(), alone.float(), p=torch.inf)
        fits = away <= context.tolerance(out)  # "row token"
        if not bool((fits.sum(dim=0) == 1).all()):
            return None
        moved |= not bool(fits[real].diagonal().all())
    return diagnose("row_order") if moved else None


def _of_one_sample(context: AuditContext, case: Case) -> Diagnosis | None:
    """Whether attention is right in this batch, and wrong in one of its samples by itself."""
    if not case.padded and is_right_on(context, case) is True:
        for sample in range(len(case.valid)):
            if is_right_on(context, context.setting.whole(case, sample)) is False:
                return diagnose("one_sample")
    return None


def _by_axes(found: Links) -> Diagnosis | None:
    """Whether tokens depend on their own place in other samples, and on no other of their own."""
    own, elsewhere = False, False
    for number, (_, query) in enumerate(found.rows):
        row = found.depends[number].clone()
        own |= bool(row[:, query].sum() > 1)
        row[:, query] = False
        elsewhere |= bool(row.any())
    return diagnose("axes") if own and not elsewhere else None


def _over_batch(context: AuditContext, case: Case, found: Links) -> Diagnosis | None:
    """Whether tokens depend on every other sample alike: on their own place there, or as on theirs.

    So does what is left of a mean, a norm or a softmax over the samples.
    """
    if len(case.valid) < 3:
        return None
    depends = found.depends
    alike, there, where = True, False, torch.arange(case.valid.shape[1], device=depends.device)
    for number, (sample, query) in enumerate(found.rows):
        others = torch.cat([depends[number, :sample], depends[number, sample + 1 :]])
        expected = (where == query, depends[number, sample])
        alike &= any(torch.equal(others, one.expand_as(others)) for one in expected)
        there |= bool(others.any())
    if not (alike and there):
        return None
    parts = [one for one in mixing_parts(context.subject, case) if one.across and one.name]
    named = f": {parts[0].name} ({parts[0].kind})" if len(parts) == 1 else ""
    return diagnose("over_batch", more=named)


def _by_earlier_mask(context: AuditContext, case: Case) -> Diagnosis | None:
    """Whether maps obey the mask of the first batch, on this batch and on a third."""
    base = context.base
    third = context.setting.case(base.valid.roll(1, dims=0), x=base.x)
    tried = [one for one in (case, third) if not torch.equal(one.valid, base.valid)]
    held = [_obeys(context, one, base) for one in tried if one.valid.shape == base.valid.shape]
    return diagnose("cached_mask") if held and all(held) else None


def _obeys(context: AuditContext, case: Case, other: Case) -> bool:
    """Whether tokens look where `other`'s intent lets them, and not where their own does."""
    theirs = replace(case, allowed=other.allowed, valid=case.valid & other.valid)
    return is_right_on(context, theirs) is True and is_right_on(context, case) is False


def _calls(context: AuditContext, case: Case) -> list[RecordedCall]:
    """The calls of attention over tokens; none where it cannot be seen."""
    with suppress(TraceError):
        with record(context.subject.whole, hidden=False, eager=True) as recording:
            context.subject.run(case)
        fixed = context.subject.fixed_keys
        return [one for n, one in enumerate(attended(recording)) if n not in fixed]
    return []


def _by_rows(context: AuditContext, case: Case) -> Diagnosis | None:
    """Whether, in calls with more rows than samples, keys are of another sample than queries."""
    calls = _calls(context, case)
    if all(one.shape[0] in (1, len(case.valid)) for one in calls):
        return None
    for place in places_of(context.subject, case, calls, context.subject.run) or ():
        queries, keys = place.samples
        own = queries[:, :1]
        told = bool((queries == own).all() & (queries >= 0).all() & (keys >= 0).all())
        if told and len(queries) > len(case.valid) and bool((keys != own).any(dim=1).any()):
            return diagnose("row_samples")
    return None


def _by_packed(context: AuditContext, case: Case, found: Links) -> Diagnosis | None:
    """Whether samples are packed in one row that is cut at other places than their ends."""
    counts, real = case.valid.sum(dim=1).tolist(), case.valid.flatten()
    own = torch.tensor([case.valid.shape[1] * sample + query for sample, query in found.rows])
    if not torch.equal(own, real.nonzero()[:, 0].cpu()):
        return None
    depends = found.depends.flatten(1)[:, real].cpu()
    one_way = torch.equal(depends, depends.tril())
    first = depends.long().argmax(dim=1)
    alike = first[:, None] == first
    if not torch.equal(depends, alike.tril() if one_way else alike):
        return None
    pieces = first.unique_consecutive(return_counts=True)[1].tolist()
    if len(pieces) == 1:
        return _as_one(context, case, one_way)
    if len(counts) > 2 and pieces == [counts[0], sum(counts[1:])]:
        return diagnose("packed_first", sure=False)
    if pieces == counts or len(pieces) != len(counts):
        return None
    code = "packed_order" if sorted(pieces) == sorted(counts) else "packed_borders"
    return diagnose(code, more=f": {pieces} for {counts}")


def _as_one(context: AuditContext, case: Case, one_way: bool) -> Diagnosis | None:
    """That nothing separates packed samples; a mean over the batch looks like it from outside."""
    calls, n_real = _calls(context, case), int(case.valid.sum())
    in_one_row = any(one.shape[0] == 1 and one.shape[2] >= n_real for one in calls)
    if not (in_one_row or one_way or not calls):
        return None
    if not (in_one_row or one_way):
        return either(("over_batch", "documents"))
    found = diagnose("documents", more=": all that are packed are one", sure=in_one_row)
    return found._replace(cure=f"{found.cure} {BORDERS}")


def by_first(context: AuditContext, case: Case, out: Tensor) -> Diagnosis | None:
    """Whether the others follow what is passed for sample 0, and none what is for another one."""
    for sample in range(len(case.valid)):
        valid, others = case.valid.clone(), case.valid.clone()
        valid[sample], others[sample] = case.valid[sample - 1], False
        valid[sample] |= bool((valid[sample] == case.valid[sample]).all())
        moved = replace(case, passed=context.setting.passed(valid, case.x))
        try:
            apart = gap(context.subject.run(moved), out, others)
        except ModelFault:
            return None
        if (apart.amount > context.tolerance(out)) is not (sample == 0):
            return None
    return diagnose("of_first") if len(case.valid) > 1 else None


def _by_divisor(context: AuditContext, case: Case, out: Tensor) -> Diagnosis | None:
    """Whether each sample alone is its output times the batch's count over its own."""
    counts, alone = case.valid.sum(dim=1).double(), _alone(context, case)[: len(out)]
    for ratio in (counts.sum() / counts, torch.full_like(counts, len(counts))):
        apart = [
            gap(own_rows(out, n, case.valid[n]) * float(ratio[n]), one).amount
            - 10 * context.tolerance(one)
            for n, one in enumerate(alone)
        ]
        if alone and max(apart) <= 0:
            return diagnose("batch_divisor")
    return None
