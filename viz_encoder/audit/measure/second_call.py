"""A second call on the very tensors of a batch, and what the model changes of them."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from viz_encoder.audit.measure.flex_masks import mapped, tensors_in
from viz_encoder.audit.measure.held import HeldTensors
from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.measure.subject import Subject


@dataclass(frozen=True, eq=False)
class SecondCall:
    """What was given, as the call left it, and the output."""

    x: Tensor
    passed: Any
    out: Tensor
    changed: list[str]  # the names of what it changed


def second_call(subject: Subject, case: Case) -> SecondCall:
    """Call the model on copies of x and of the passed tensors."""
    x, passed = copies_of(case)
    inputs = {} if case.own else {"the input": x}
    named = {repr(where) if where else "the mask": one for where, one in tensors_in(passed)}
    held = HeldTensors.of(named | inputs)
    out = subject.read(call_on(subject, x, passed, case), case.valid).clone()
    return SecondCall(x, passed, out, held.changed())


def copies_of(case: Case) -> tuple[Tensor, Any]:
    """The input and what is passed, as tensors of their own."""
    return case.x.clone(), mapped(case.passed, Tensor.clone)


def call_on(subject: Subject, x: Tensor, passed: Any, case: Case) -> Any:
    """Output for these exact tensors, in new dicts."""
    with torch.no_grad():
        return subject.called(x, mapped(passed, lambda one: one), case.sizes)
