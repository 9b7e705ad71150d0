"""Whether the mask that is passed has any influence at all."""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.passed_mask import readings
from viz_encoder.audit.measure.changes import gap
from viz_encoder.audit.measure.flex_masks import is_flex, leaves_in, mapped, opposite
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Verdict, fails, passes, untested
from viz_encoder.errors import InputError


@question(
    "The mask is used",
    Evidence.SWITCHES,
    after="runs maps LINKS padding_invariance",
)
def mask_used(context: AuditContext) -> Check:
    """The opposite of the mask must change the output, or be refused; of several, of each."""
    case = context.base
    if not readings(case.passed, case.valid):
        if leaves_in(case.passed):
            return untested("Whether the mask is used: what is passed is no mask of these tokens.")
        return untested("Nothing is passed that could be inverted: the model masks by itself.")
    if context.is_nonfinite:
        return untested("The mask is used: could not be judged: the output is NaN.")
    moved = _moved(context, {id(one) for _, one in leaves_in(case.passed)})
    if isinstance(moved, str):
        return passes(moved)
    if moved > 0:
        how = f"by {moved:.2g}" if math.isfinite(moved) else "to NaN"
        text = f"With the mask turned around, each True a False, the output changes {how}."
        unused = _unused(context)
        return Check(Verdict.INFO, f"{text} {unused}") if unused else passes(text)
    if _moves_without_padding(context):
        return passes(
            "With the mask turned around, each True a False, the output is the same, as where "
            "tokens see those of their own kind; with the mask of no padding it changes."
        )
    text = (
        "With the mask turned around, each True a False, the output is the same, and with the mask "
        "of no padding, too: it is not used."
    )
    if context.passed("gradient") or context.passed("maps"):
        right = not context.failed("gradient", "maps")
        more = " Real tokens still look where they should." if right else ""
        return Check(Verdict.INFO, text + more)
    return fails(text).because(diagnose("ignored"))


def _moved(context: AuditContext, turned: set[int]) -> float | str:
    """How far the output moves if these tensors are inverted; the error if that is refused."""
    case = context.base
    passed = mapped(
        case.passed,
        lambda one: _opposite(one, case) if id(one) in turned else one,
        lambda one: opposite(one) if id(one) in turned else one,
    )
    try:
        other = context.subject.run(Case(case.x, case.valid, case.allowed, passed))
    except ModelFault as fault:
        return f"With the mask turned around, each True a False, {fault.clause}."
    return gap(other, context.out, case.valid).amount


def _moves_without_padding(context: AuditContext) -> bool:
    """Whether the output changes with what is passed where no token is padding."""
    case = context.base
    try:
        other = context.setting.case(torch.ones_like(case.valid), x=case.x)
        out = context.subject.run(replace(case, passed=other.passed))
    except (ModelFault, InputError):
        return False
    return gap(out, context.out, case.valid).amount > 0


def _unused(context: AuditContext) -> str:
    """Names of masks that change nothing on their own; "" if all do."""
    leaves = leaves_in(context.base.passed)
    masks = [(name, one) for name, one in leaves if is_flex(one) or _is_switch(one)]
    idle = [repr(name) for name, one in masks if _moved(context, {id(one)}) == 0.0]
    if len(masks) < 2 or not idle:
        return ""
    return (
        f"But {', '.join(idle)} by {'itself' if len(idle) == 1 else 'themselves'} changes nothing."
    )


def _is_switch(mask: Any) -> bool:
    """Whether it has exactly two values, and can therefore be inverted."""
    if not isinstance(mask, Tensor):
        return False
    return mask.numel() > 1 and (mask.dtype == torch.bool or set(mask.unique().tolist()) <= {0, 1})


def _opposite(mask: Tensor, case: Case) -> Tensor:
    if not _is_switch(mask) and not readings(mask, case.valid):
        return mask
    if mask.dtype == torch.bool:
        return ~mask
    if set(mask.unique().tolist()) <= {0, 1}:
        return 1 - mask
    if not mask.is_floating_point():
        return ~mask
    return torch.where(mask < 0, 0.0, torch.finfo(mask.dtype).min).to(mask.dtype)
