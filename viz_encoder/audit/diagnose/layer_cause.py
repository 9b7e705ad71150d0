"""Why one layer's map is wrong: by the numbers themselves, then by the mask that it equals."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.banned import (
    added,
    adds_zero_and_one,
    left_to,
    measured,
    of_number,
    real_rows,
)
from viz_encoder.audit.diagnose.diagnosis import diagnose, diagnose_constant, either
from viz_encoder.audit.diagnose.half_masked import not_meant
from viz_encoder.audit.diagnose.hypothesis import LayerOnBatch
from viz_encoder.audit.diagnose.map_cause import diagnose_maps
from viz_encoder.audit.diagnose.mixing import by_order
from viz_encoder.audit.diagnose.passed_mask import readings_of, suspicions
from viz_encoder.audit.diagnose.tried import by_trying, of_the_tensor
from viz_encoder.audit.measure.constants import too_small
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.maps import in_own_order, maps_of
from viz_encoder.audit.measure.setting import MASS, Case, ModelFault
from viz_encoder.audit.report import Diagnosis, is_sure, unsure
from viz_encoder.shown import counted

LOST = ("ignored", "padding_ignored", "pattern_ignored", "causal_lost", "causal_added")
NOT_MASKED = ("ignored", "padding_ignored", "pattern_ignored", "")


def cause_of_layer(context: AuditContext, case: Case, layer: LayerRun, number: int) -> Diagnosis:
    """The cause that a layer's map matches, starting with those that are certain."""
    allowed = context.intent(case, number)
    forbidden = ~allowed & real_rows(context, case, number)[:, :, None]
    if bool(layer.judged(allowed, case.valid).leak.isinf().any()):
        return diagnose("after_softmax")  # which itself gives no such weight
    banned = added(layer, forbidden)
    if banned is None:
        banned = measured(context, case, number)
    if layer.bias is not None and banned == 0 and adds_zero_and_one(case):
        return diagnose("zero_one_added")
    if (found := of_number(banned, case)) is not None:
        return found
    diagnosis = equal_mask(context, case, layer, number)
    if not diagnosis.code and _leaks_in_even_rows(layer, forbidden):
        return diagnose("even_rows")
    if not layer.sure or layer.bias is not None:  # else the mask itself was seen
        diagnosis = _unless_low(context, case, number, diagnosis)
    if (
        diagnosis.code in NOT_MASKED
        and (value := too_small(context.subject, case, grad=not context.grad_fault)) is not None
    ):
        return diagnose_constant(value)
    codes = [one.code for one in suspicions(case.passed, case.valid)]
    for code in ("int_inverted", "zero_one_added") if diagnosis.code in NOT_MASKED else ():
        if code in codes:
            return diagnose(code, sure=code == "int_inverted")
    if diagnosis.code in ("sorted", "other_sample") and case is context.base:
        return by_order(context, case, context.out) or diagnosis
    return of_the_tensor(context, case, diagnosis) or or_of_one_side(
        context, case, layer, number, by_trying(context, case, diagnosis)
    )


def _leaks_in_even_rows(layer: LayerRun, forbidden: Tensor) -> bool:
    """Whether all forbidden keys that it looks at are in rows whose weights are all the same."""
    leaks = layer.looked_at(MASS) & forbidden[:, None]
    return not layer.sure and not bool((leaks & layer.looked_at(MASS, unless_even=True)).any())


def _leaves_keys_uncounted(context: AuditContext, case: Case, layer: LayerRun, number: int) -> bool:
    """Whether the mask, or the pattern in it, gives a token the column of the n-th before it."""
    n_before, rows = layer.slots.first, real_rows(context, case, number)
    if not n_before:
        return False
    opened, pattern = layer.looked_at(MASS), context.pattern(case, number)
    judged = rows[:, None].expand(opened.shape[:3])
    for value in (False, True):  # the columns that the mask lacks, or that stand behind it
        allowed, alone = (
            F.pad(one, (0, n_before), value=value)[..., n_before:]
            for one in (context.intent(case, number), pattern)
        )
        for one in (allowed, alone & case.valid[:, None]):
            if torch.equal(opened[judged], one[:, None].expand_as(opened)[judged]):
                return True
    return False


def or_of_one_side(
    context: AuditContext, case: Case, layer: LayerRun, number: int, found: Diagnosis
) -> Diagnosis:
    """The diagnosis; where none is known, what it is with padding on this side alone.

    What is passed may be made for one side.
    """
    near = [one for one in context.batches.further(case) if _begins(one) == _begins(case)]
    if found.code or len(near) == len(context.batches.further(case)):
        return found
    told = _explained(context, _seen(context, case, layer, number), near, number, flat=False)
    return told._replace(cause=unsure(told.cause)) if told.code else found


def _unless_low(context: AuditContext, case: Case, number: int, found: Diagnosis) -> Diagnosis:
    """The mask that it equals; not for certain where what it opens has less weight than allowed."""
    left = left_to(context, case, number)
    if left.is_low and found.code and (left.is_one_number or found.code in NOT_MASKED):
        return either([found.code, "constant"]) if is_sure(found.cause) else found
    return found


def in_another_order(context: AuditContext, case: Case) -> Diagnosis | None:
    """Diagnose maps that are right token by token, but only in the order in which they ran.

    Where that is nothing known by name, it is that order itself.
    """
    turned = in_own_order(context.subject, case, maps_of(context.subject, case))
    for number, layer in enumerate(turned.layers if turned is not None else ()):
        seen = layer.judged(context.intent(case, number), case.valid)
        if float(seen.leak.max()) > MASS or context.misses(seen.lost):
            found = cause_of_layer(context, case, layer, number)
            return found if found.code else diagnose("order")
    return None


def equal_mask(context: AuditContext, case: Case, layer: LayerRun, number: int) -> Diagnosis:
    """The cause whose mask the wrong heads match, on this batch and on others."""
    if _leaves_keys_uncounted(context, case, layer, number):
        return diagnose("keys_uncounted", more=f": {counted(layer.slots.first, 'key')}")
    found = _equal_mask(context, case, layer, number)
    if found.code or layer.sure:
        return found
    layers = context.maps_on(case, flat=True).layers
    if len(layers) <= number:
        return found
    flat = _equal_mask(context, case, layers[number], number, flat=True)
    return flat if flat.code else found


def _equal_mask(
    context: AuditContext, case: Case, layer: LayerRun, number: int, *, flat: bool = False
) -> Diagnosis:
    first = _seen(context, case, layer, number)
    found = _explained(context, first, context.batches.further(case), number, flat=flat)
    if found.code or case.valid.shape[1] not in context.other_lengths:
        return found
    # What is lost only from some length on is right in shorter batches, which contradict it.
    longer = _explained(context, first, context.batches.as_long_as(case), number, flat=flat)
    return longer if longer.code in LOST and is_sure(longer.cause) else found


def _explained(
    context: AuditContext, first: LayerOnBatch, others: Sequence[Case], number: int, *, flat: bool
) -> Diagnosis:
    heads = first.wrong.any(dim=3).any(dim=2).any(dim=0)
    heads = heads if bool(heads.any()) else torch.ones_like(heads)
    seen = [first]
    for other in others:
        with suppress(ModelFault):
            layers = context.maps_on(other, flat=flat).layers
            if len(layers) > number:
                seen.append(_seen(context, other, layers[number], number))
    seen = [replace(one, opened=one.opened[:, heads]) for one in seen]
    found = diagnose_maps(seen, heads, not_meant(context))
    # Another mask would then be wrong in the heads that are right.
    return diagnose("inverted_heads") if found.code == "inverted" and not heads.all() else found


def _begins(case: Case) -> bool:
    """Whether each sample begins with a token."""
    return bool(case.valid[:, 0].all())


def _seen(context: AuditContext, case: Case, layer: LayerRun, number: int) -> LayerOnBatch:
    # A row whose scores are all the lowest number is uniform: it is empty.
    opened = layer.looked_at(MASS, unless_even=True)
    allowed, pattern = context.intent(case, number), context.pattern(case, number)
    layers = case.allowed if len(case.allowed) > 1 else ()
    passed = readings_of(case)
    return LayerOnBatch(opened, allowed, pattern, case.valid, passed=passed, layers=layers)
