"""Causes that are found by trying: another tensor as the mask, and each sample by itself."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose, either
from viz_encoder.audit.diagnose.passed_mask import readings
from viz_encoder.audit.diagnose.right_on import is_closed, is_right_on, places_of_tokens, right_with
from viz_encoder.audit.diagnose.what_is_passed import of_what_is_passed
from viz_encoder.audit.measure.changes import content_of, gap
from viz_encoder.audit.measure.flex_masks import mapped, tensors_in
from viz_encoder.audit.measure.gradients import Gradients
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.report import Diagnosis, is_sure
from viz_encoder.errors import InputError

# True, and not yet the whole cause.
OPEN = ("ignored", "padding_ignored", "pattern_ignored", "all_closed")
VAGUE = ("", "as_passed", "not_seen")
STEPS = 3  # how far masks are moved


def by_trying(context: AuditContext, case: Case, known: Diagnosis) -> Diagnosis:
    """The known diagnosis, or a better one found by trials.

    They take time, and what fails after another check is explained by that one.
    """
    sure = is_sure(known.cause)
    explained = any(one.verdict.is_red for one in context.answers.values())
    if context.scope.may_leave_out:  # any mask that closes more would be right
        return known
    if explained or (sure and known.code not in (*OPEN, *VAGUE)):
        return known
    if known.code == "not_seen" and context.maps.layers:  # which are right, whatever is tried
        return known
    with suppress(ModelFault):
        found = (
            of_what_is_passed(context, case, known)
            or _of_another_tensor(context, case)
            or _of_another_order(context, case)
            or _of_counted(context, case)
        )
        if found is not None:
            return found
        if sure and _is_right_alone(context, case):
            if known.code in VAGUE:
                return diagnose("batch_of_one")
            return known._replace(cause=f"{known.cause[:-1]}; not so in a batch of one sample.")
    return known


def of_the_tensor(context: AuditContext, case: Case, known: Diagnosis) -> Diagnosis | None:
    """Whether a mask that is read as another one lacks an axis for the heads, or a sign."""
    with suppress(ModelFault, InputError):
        if known.code in ("repeat", "copies") and _takes_samples_for_heads(context, case):
            return diagnose("head_axis")
        if known.code == "inverted" and right_with(context, case, _signed):
            return diagnose("unsigned")
    return None


def _takes_samples_for_heads(context: AuditContext, case: Case) -> bool:
    """Whether a batch of two is refused, though this one and a batch of one run."""
    if len(case.valid) < 3:
        return False
    two, one = (context.setting.case(case.valid[:n], x=case.x[:n]) for n in (2, 1))
    context.subject.run(one)
    try:
        context.subject.run(two)
    except ModelFault:
        return True
    return False


def _signed(case: Case) -> Case:
    """The case with unsigned tensors passed as int64."""
    return _passing(case, lambda one: one.long() if one.dtype == torch.uint8 else one)


def _passing(case: Case, change: Callable[[Tensor], Tensor]) -> Case:
    return replace(case, passed=mapped(case.passed, change))


def _of_another_tensor(context: AuditContext, case: Case) -> Diagnosis | None:
    """Whether all is right where the mask is put in place of something else that is passed."""
    meant = [r.where for r in readings(case.passed, case.valid) if _is_meant(r.allowed, case)]
    tensors, content = dict(tensors_in(case.passed)), content_of(case) if case.own else None
    for where in dict.fromkeys(meant):
        for name, other in tensors.items():
            if name == where or other is content or other.shape != tensors[where].shape:
                continue  # other tokens are no trial: of equal ones no place could be told
            if not torch.equal(other, tensors[where].to(other.dtype)) and right_with(
                context, case, partial(_in_place_of, where, name)
            ):
                return diagnose("other_tensor", more=f": {name!r}, where {where!r} does")
    return None


def _in_place_of(where: str, name: str, case: Case) -> Case:
    """The case with the first tensor passed in both places."""
    tensors = dict(tensors_in(case.passed))
    mask, other = tensors[where], tensors[name]
    return _passing(case, lambda one: mask.to(other.dtype) if one is other else one)


def _of_another_order(context: AuditContext, case: Case) -> Diagnosis | None:
    """Whether all is right where the masks are passed the other way around, or moved on."""
    given, out = dict(tensors_in(case.passed)), context.subject.run(case)
    for step in (0, *range(1, STEPS + 1), *range(-STEPS, 0)):
        turned = dict(tensors_in(_turned(step, case).passed))
        if any(not torch.equal(one, given[where]) for where, one in turned.items()) and (
            _moves(context, case, step, out) and right_with(context, case, partial(_turned, step))
        ):
            if step and bool(context.pattern(case).all()):
                return either(["shifted", "order"])  # which differ in what comes in at the end
            moved = f"moved {'on' if step > 0 else 'back'} by {abs(step)}"
            return diagnose(
                "order", more=f" (right is {moved if step else 'the other way around'})"
            )
    return None


def _of_counted(context: AuditContext, case: Case) -> Diagnosis | None:
    """Whether all is right where the real tokens of each sample are its first, as by its length."""
    counted = torch.arange(case.valid.shape[1], device=case.valid.device)
    counted = counted < case.valid.sum(dim=1, keepdim=True)
    starts = (case.valid.long().diff(dim=1) > 0).any(dim=1) & case.valid[:, 0]
    if context.setting.fixed or not bool(starts.any()):
        return None  # where padding stands at the ends, other masks are the same
    with suppress(InputError):
        allowed = context.setting.allowed(counted, case.x)
        found = context.gradients_on(case)  # of real tokens behind the count, too
        there = replace(case, allowed=allowed)
        if isinstance(found, Gradients) and not is_closed(context, there, found):
            return None
        if is_right_on(context, replace(there, valid=counted)):
            return diagnose("counted", sure=False)
    return None


def _moves(context: AuditContext, case: Case, step: int, out: Tensor) -> bool:
    """Whether this order is another to the model: none is where it ignores what is passed."""
    moved = context.subject.run(_turned(step, case))
    return gap(moved, out, case.judged).amount > 0


def _turned(step: int, case: Case) -> Case:
    """The case with each token axis rolled by `step`, or flipped if it is 0."""

    def turn(mask: Tensor) -> Tensor:
        n_tokens = case.valid.shape[1]
        axes = [axis for axis, size in enumerate(mask.shape) if axis and size == n_tokens]
        return mask.roll([step] * len(axes), axes) if step and axes else mask.flip(axes)

    return _passing(case, turn)


def _is_meant(pairs: Tensor, case: Case) -> bool:
    return len(case.allowed) == 1 and torch.equal(pairs[case.valid], case.allowed[0][case.valid])


def _is_right_alone(context: AuditContext, case: Case) -> bool:
    """Whether each sample with its padding is right in a batch of its own."""
    if len(case.valid) == 1 or context.setting.fixed:
        return False
    each = (context.setting.whole(case, sample) for sample in range(len(case.valid)))
    places = places_of_tokens(maps_of(context.subject, case).layers)
    # In one sample alone a sink in front and filling behind the tokens may look the same.
    return all(is_right_on(context, one, places) for one in each)
