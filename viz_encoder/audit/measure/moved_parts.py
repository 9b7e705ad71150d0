"""Finds the part of a model in which a changed token moves others, where no gradient shows it.

Such are a capacity of experts, a ranking or a count: their outputs jump.
"""

from dataclasses import replace

from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.measure.difference import gap
from viz_encoder.audit.measure.gradients import NoGradient
from viz_encoder.audit.measure.leaf import leaf_of
from viz_encoder.audit.measure.parts import NamedPart, SeenModule, axis_of, is_inside, watched
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.measure.subject import Subject


def moved_parts(
    subject: Subject, case: Case, x: Tensor, still: Bool[Tensor, "batch token"], limit: float
) -> tuple[NamedPart, ...]:
    """The innermost modules that are given rows as before with the other x, and move them."""
    try:
        before, after = (_run(subject, one) for one in (case, replace(case, x=x)))
    except (ModelFault, NoGradient):
        return ()
    found = [
        NamedPart(name, type(one.module).__name__)
        for name, one in before.items()
        if name in after and _moves(one, after[name], case, still, limit)
    ]
    return tuple(one for one in found if not any(is_inside(other, one) for other in found))


def _run(subject: Subject, case: Case) -> dict[str, SeenModule]:
    with leaf_of(subject, case) as (x, _), watched(subject, case) as seen:
        subject.run(case, x=x, grad=True)
    return {one.name: one for one in seen}


def _moves(before: SeenModule, after: SeenModule, case: Case, still: Tensor, limit: float) -> bool:
    pairs = (before.given, after.given), (before.out, after.out)
    apart = [
        gap(one, other, still).amount
        for one, other in pairs
        if one is not None and other is not None and axis_of(one, case) == 1
    ]
    return len(apart) == 2 and apart[0] == 0.0 and apart[1] > limit
