"""Whether the output is the same whatever the input, at the length of a case."""

from contextlib import suppress

import torch
from torch import Tensor

from viz_encoder.audit.answer import Answer
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.difference import first_nonfinite, gap
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.report import Verdict
from viz_encoder.errors import InputError


def find_ignored(context: AuditContext, case: Case, out: Tensor) -> Answer | None:
    """The fault that other inputs give the very same output; None where any of it differs."""
    if context.setting.fixed or first_nonfinite(out, case) is not None:
        return None  # there is one batch, or NaN, which is as it is
    with suppress(ModelFault, InputError):
        other = context.setting.case(case.valid, seed=context.setting.seed + 1)
        if torch.equal(other.x, case.x) or gap(context.subject.run(other), out, case.valid).amount:
            return None
        text = "The output does not depend on the input; with other inputs it is the same."
        return Answer(Verdict.FAIL, text, amount=0.0).because(diagnose("input_unused", sure=False))
    return None
