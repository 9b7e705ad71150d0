"""Finds the part of a model in which a changed token moves others, where no gradient shows it.

Such are a capacity of experts, a ranking or a count: their outputs jump.
"""

from dataclasses import replace
from typing import NamedTuple

from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.measure.difference import gap
from viz_encoder.audit.measure.gradients import NoGradient, leaf_of
from viz_encoder.audit.measure.parts import NamedPart, SeenModule, axis_of, is_inside, watched
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.measure.subject import Subject


class Moved(NamedTuple):
    """Where rows that are to stay first move: in modules, or in the code between two of them."""

    parts: tuple[NamedPart, ...]  # the innermost that are given these rows as before
    between: tuple[str, str] | None  # the last module that gives them as before, and the next


def moved_parts(
    subject: Subject, case: Case, x: Tensor, still: Bool[Tensor, "batch token"], limit: float
) -> Moved:
    """Where these rows move with the other x."""
    try:
        before, after = (_run(subject, one) for one in (case, replace(case, x=x)))
    except (ModelFault, NoGradient):
        return Moved((), None)
    found: list[NamedPart] = []
    between, last = None, ""
    for name, one in before.items():
        given, out = _apart(one, after.get(name), case, still)
        if given is None or out is None:
            continue
        if name and given == 0.0 and out > limit:
            found.append(NamedPart(name, type(one.module).__name__))
        if given > limit and not found and between is None and name and last:
            between = (last, name)
        last = name if out == 0.0 else last
    inner = tuple(one for one in found if not any(is_inside(other, one) for other in found))
    return Moved(inner, between)


def _run(subject: Subject, case: Case) -> dict[str, SeenModule]:
    with leaf_of(subject, case) as (x, _), watched(subject, case) as seen:
        subject.run(case, x=x, grad=True)
    return {one.name: one for one in seen}


def _apart(
    before: SeenModule, after: SeenModule | None, case: Case, still: Tensor
) -> tuple[float | None, float | None]:
    """How far these rows of its input and of its output move; None where they are not seen."""
    pairs = [(before.given, after.given), (before.out, after.out)] if after is not None else []
    given, out = [
        gap(one, other, still).amount
        if one is not None and other is not None and axis_of(one, case) == 1
        else None
        for one, other in pairs
    ] or (None, None)
    return given, out
