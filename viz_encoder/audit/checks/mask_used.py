"""Whether the mask that is passed has any influence at all."""

import math
from typing import Any

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import Answer, AuditContext, Question, gap, passes, untested
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.passed_mask import readings, tensors_in
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.report import Verdict


def ask(context: AuditContext) -> Answer:
    """The opposite of the mask must change the output, or be refused."""
    case = context.base
    if not readings(case.passed, case.valid):
        return untested("Nothing is passed that could be inverted: the model masks by itself.")
    turned = Case(case.x, case.valid, case.allowed, _inverted(case.passed, case.valid))
    try:
        other = context.subject.run(turned)
    except ModelFault as fault:
        return passes(f"The opposite mask is refused: {fault}.")
    apart = gap(other, context.out, case.valid)
    if apart.amount > 0:
        how = f"by {apart.amount:.2g}" if math.isfinite(apart.amount) else "to NaN"
        return passes(f"The opposite mask changes the output {how}.")
    text = "The opposite of the mask gives the very same output: it is not used."
    if context.passed("gradient") or context.passed("maps"):
        more = " Real tokens look where they should all the same."
        return Answer(Verdict.INFO, text + more)
    return Answer(Verdict.FAIL, text).because(diagnose("ignored"))


def _inverted(passed: Any, valid: Tensor) -> Any:
    if isinstance(passed, Tensor):
        return _opposite(passed, valid)
    if isinstance(passed, dict):
        return {name: _inverted(value, valid) for name, value in passed.items()}
    if type(passed) in (list, tuple):
        return type(passed)(_inverted(value, valid) for value in passed)
    return passed


def _opposite(mask: Tensor, valid: Tensor) -> Tensor:
    masks = [one for _, one in tensors_in(mask)]
    if not readings(masks, valid):
        return mask
    if mask.dtype == torch.bool:
        return ~mask
    if set(mask.unique().tolist()) <= {0, 1}:
        return 1 - mask
    if not mask.is_floating_point():
        return ~mask
    return torch.where(mask < 0, 0.0, torch.finfo(mask.dtype).min).to(mask.dtype)


QUESTION = Question(
    "mask_used",
    "The mask is used",
    ask,
    ("runs", "maps", "gradient", "perturbation", "padding_invariance"),
    order=140,
)
