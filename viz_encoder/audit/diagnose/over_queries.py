"""Whether a softmax runs over the queries, so that each output depends on all of them."""

from contextlib import suppress
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from viz_encoder.audit.answer import Diagnosis
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import UNKNOWN, diagnose
from viz_encoder.audit.diagnose.right_on import is_right_on
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.trace.torch_ops import SOFTMAX


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
