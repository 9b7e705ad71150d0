"""The cases besides the first length, for checks that are asked at every length."""

from collections.abc import Iterator
from contextlib import suppress

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.measure.setting import Case, ModelFault


def other_cases(context: AuditContext, *, padded: bool = True) -> Iterator[tuple[Case, Tensor]]:
    """A batch of each other length that the model takes, and its output.

    None where the model itself is wrong at one of them, which explains what any check would find.
    """
    for length in () if context.failed("lengths") else context.other_lengths:
        valid = context.setting.padding(length)
        with suppress(ModelFault):
            case = context.setting.case(valid if padded else torch.ones_like(valid))
            yield case, context.subject.run(case)


def at_length(case: Case) -> str:
    """Where a fault shows that the first length does not."""
    return f"at {case.valid.shape[1]} tokens (fewer pass)"
