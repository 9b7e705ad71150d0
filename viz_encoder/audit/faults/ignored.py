"""Outputs that are the same whatever the input is."""

from contextlib import suppress

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.changes import first_nonfinite, gap
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.report import Check, fails
from viz_encoder.errors import InputError


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
