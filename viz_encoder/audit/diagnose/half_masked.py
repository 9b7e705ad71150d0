"""Causes of single parts: half masked, or over the queries; and causes that cannot be."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import UNKNOWN, diagnose
from viz_encoder.audit.diagnose.passed_mask import readings
from viz_encoder.audit.diagnose.right_on import is_right_on
from viz_encoder.audit.measure.changes import gap
from viz_encoder.audit.measure.inner_parts import InnerRows, inner_rows
from viz_encoder.audit.measure.parts import outputs_of_part
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.report import Diagnosis
from viz_encoder.errors import InputError
from viz_encoder.trace.torch_ops import SOFTMAX


def half_masked(context: AuditContext, case: Case, name: str, number: int) -> Diagnosis | None:
    """Whether forbidden tokens are kept out of one inner module, and get in by another.

    So on this batch and on each further one on which they get in at all.
    """
    cases = (case, *context.batches.further(case))
    inner = [inner_rows(context.subject, o, name, context.intent(o, number)) for o in cases]
    told = {_told(inner[0])}
    told |= {_told(o) for o in inner[1:] if not o or any(bool(n.forbidden.any()) for n in o)}
    words = told.pop()
    return diagnose("half_masked", more=words) if words and not told else None


def _told(inner: tuple[InnerRows, ...]) -> str:
    """By what forbidden tokens get in, and by what they do not; "" if that cannot be told.

    The last tell: of those before, a row of padding may reach real ones by a further layer.
    """
    named = {one.name: one for one in inner}
    for one in reversed(inner):
        if bool(one.closed.any()) and not bool(one.forbidden.any()):
            opened = [n for n in one.apart if bool(named[n].forbidden.any())]
            if opened:
                last = max(opened, key=list(named).index)
                return f": forbidden tokens are kept out of {one.name}, and get in by {last}"
        if bool(one.closed.any()) and bool(one.forbidden.any()):
            closed, entered = _channels(one.closed), _channels(one.forbidden)
            return (
                f": of what {one.name} gives, forbidden tokens are kept out of channels {closed}, "
                f"and get in by {entered}"
            )
    return ""


def _channels(which: Tensor) -> str:
    """Ranges of channels, such as "8…15"."""
    at = which.nonzero()[:, 0].tolist()
    begins = [one for one in at if one - 1 not in at]
    ends = [one for one in at if one + 1 not in at]
    return ", ".join(f"{a}…{b}" if a < b else f"{a}" for a, b in zip(begins, ends, strict=True))


class OverKeys(TorchFunctionMode):
    """While it is entered, a softmax over the queries of square scores runs over their keys."""

    changed = False

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Change the axis of such a softmax, and let all else pass."""
        kwargs = dict(kwargs or {})
        if func in SOFTMAX and args and _is_over_queries(*args[:2], **kwargs):
            self.changed = True
            rest = args[2:]
            args, kwargs = (args[0], -1, *rest), {n: one for n, one in kwargs.items() if n != "dim"}
        return func(*args, **kwargs)


def _is_over_queries(scores: Tensor, dim: int | None = None, **more: Any) -> bool:
    square = scores.ndim > 1 and scores.shape[-1] == scores.shape[-2]
    return square and dim in (-2, scores.ndim - 2)


def over_queries(context: AuditContext, case: Case) -> Diagnosis | None:
    """Whether all is right with it over the keys, here and on a further batch; None without one.

    Where more is wrong, what depends on what does not tell the cause.
    """
    with suppress(ModelFault), OverKeys() as over:
        context.subject.run(case)
        if not over.changed:
            return None
        cases = (case, *context.batches.further(case)[:1])
        return diagnose("wrong_axis") if all(is_right_on(context, c) for c in cases) else UNKNOWN
    return None


UNMASKED = ("ignored", "padding_ignored")  # no row would change
TURNED = "transposed"  # rows of padding alone would
OF_PICTURES = ("by_distance",)


def not_meant(context: AuditContext) -> tuple[str, ...]:
    """The codes of the causes that what was given contradicts: of packed documents no picture."""
    return OF_PICTURES if context.scope.documents is not False else ()


def contradicted(context: AuditContext, case: Case, name: str = "") -> tuple[str, ...]:
    """The codes of the causes that the part of this name, or the whole model, contradicts."""
    return (*not_meant(context), *_by_another(context, case, name))


def _by_another(context: AuditContext, case: Case, name: str) -> tuple[str, ...]:
    if context.setting.fixed or not case.padded or not readings(case.passed, case.valid):
        return ()
    with suppress(ModelFault, InputError):
        other = context.setting.case(torch.ones_like(case.valid), x=case.x)
        cases = case, replace(case, passed=other.passed)
        outs = outputs_of_part(context.subject, cases, name)
        if outs is None or outs[0].shape != outs[1].shape:
            return ()
        own, moved = outs
        if gap(own, moved, case.judged).amount > context.tolerance(own):
            return (*UNMASKED, TURNED)
        return UNMASKED if gap(own, moved).amount > context.tolerance(own) else (TURNED,)
    return ()
