"""Tries whether positions that count from each sample's first real token mend a difference."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from jaxtyping import Int
from torch import Tensor, nn

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.calling import signature_of
from viz_encoder.audit.cut_samples import cut_samples
from viz_encoder.audit.measure.setting import Case, ModelFault

NAME = "position_ids"


def positions_mend(context: AuditContext, case: Case) -> bool:
    """Whether samples are the same alone and with padding where position_ids are given."""
    positions = (case.valid.cumsum(dim=1) - 1).clamp(min=0)
    with suppress(ModelFault):
        with _given(context.subject.whole, positions):
            out = context.subject.run(case)
        cut = cut_samples(context, case, out)
        return cut.n_compared > 0 and cut.worst.amount <= context.tolerance(out)
    return False


@contextmanager
def _given(whole: nn.Module, positions: Int[Tensor, "batch token"]) -> Iterator[None]:
    """Every module that takes position_ids is given these in place of what it is given."""

    signatures = {one: signature_of(one) for one in whole.modules()}
    taking = {one: its for one, its in signatures.items() if its and NAME in its.parameters}

    def give(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bound = taking[module].bind_partial(*args, **kwargs)
        shapes = [one.shape[:2] for one in bound.arguments.values() if isinstance(one, Tensor)]
        if positions.shape in shapes:
            bound.arguments[NAME] = positions
        return bound.args, bound.kwargs

    hooks = [one.register_forward_pre_hook(give, with_kwargs=True) for one in taking]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
