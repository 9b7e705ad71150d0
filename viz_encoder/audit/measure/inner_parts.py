"""Which parts inside of one part of a model let forbidden tokens in, by gradients or by a jump."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.measure.changes import gap
from viz_encoder.audit.measure.gradients import NoGradient, leaf_of
from viz_encoder.audit.measure.parts import NamedPart, SeenModule, axis_of, is_inside, watched
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.audit.measure.setting import GRADIENT, Case, ModelFault
from viz_encoder.audit.measure.subject import Subject

MOST_VALUES = 2**22  # of all outputs inside a part


@dataclass(frozen=True, eq=False)
class InnerRows:
    """What one inner module gives: the channels by which other tokens influence the part."""

    name: str
    forbidden: Bool[Tensor, " channel"]  # tokens that may have no influence
    allowed: Bool[Tensor, " channel"]  # tokens that may
    apart: frozenset[str] = frozenset()  # modules that give nothing to it and take nothing from it

    @property
    def closed(self) -> Bool[Tensor, " channel"]:
        """Channels by which only allowed tokens have any influence."""
        return self.allowed & ~self.forbidden


def inner_rows(subject: Subject, case: Case, name: str, allowed: Allowed) -> tuple[InnerRows, ...]:
    """The modules inside of the part of this name, in order; () if they cannot be seen."""
    try:
        with leaf_of(subject, case) as (x, _), watched(subject, case) as seen:
            subject.run(case, x=x, grad=True)
        [whole] = [one.out for one in seen if one.name == name]
        inner = [one for one in seen if _is_in(one.name, name) and _gives_rows(one, case)]
        outs = [one.out for one in inner if one.out is not None]
        if whole is None or not outs or sum(one.numel() for one in outs) > MOST_VALUES:
            return ()
        found = _influences(whole, outs, case, allowed)
        apart = _unconnected(inner, outs)
    except (ModelFault, NoGradient, RuntimeError, ValueError):
        return ()
    return tuple(
        InnerRows(one.name, *channels, others)
        for one, channels, others in zip(inner, found, apart, strict=True)
    )


def _is_in(inner: str, name: str) -> bool:
    return inner.startswith(f"{name}.") if name else bool(inner)


def _gives_rows(seen: SeenModule, case: Case) -> bool:
    out = seen.out
    return out is not None and out.ndim == 3 and out.shape[:2] == case.valid.shape


def _influences(
    whole: Tensor, outs: Sequence[Tensor], case: Case, allowed: Allowed
) -> list[tuple[Tensor, Tensor]]:
    """For each output the channels of forbidden tokens, and of allowed ones, that have any."""
    mixture = torch.randn(whole.shape[-1], generator=torch.Generator().manual_seed(5)).to(whole)
    found = [
        (one.new_zeros(one.shape[-1]).bool(), one.new_zeros(one.shape[-1]).bool()) for one in outs
    ]
    for sample, query in case.valid.nonzero().tolist():
        direction = torch.zeros_like(whole)
        direction[sample, query] = mixture
        others = torch.arange(case.valid.shape[1], device=whole.device) != query
        grads = torch.autograd.grad(whole, outs, direction, retain_graph=True, allow_unused=True)
        moved = [_moved(grad, sample) for grad in grads]
        closed = others & ~allowed[sample, query]
        if not any(one is not None and bool(one[closed].any()) for one in moved):
            continue  # only where others get in does it tell anything that these do not
        for one, (forbidden, open_) in zip(moved, found, strict=True):
            if one is not None:
                forbidden |= one[closed].any(dim=0)
                open_ |= one[others & allowed[sample, query]].any(dim=0)
    return found


def _moved(grad: Tensor | None, sample: int) -> Tensor | None:
    """Tokens and channels of one sample that have any influence."""
    if grad is None:
        return None
    amount = grad[sample].abs().nan_to_num(0.0)
    return amount > GRADIENT * amount.max().clamp_min(1e-300)


def _unconnected(inner: Sequence[SeenModule], outs: Sequence[Tensor]) -> list[frozenset[str]]:
    """For each module those that are neither made of its output nor its output of theirs."""
    made_of = [
        torch.autograd.grad(one.sum(), outs, retain_graph=True, allow_unused=True) for one in outs
    ]
    return [
        frozenset(
            other.name
            for m, other in enumerate(inner)
            if made_of[n][m] is None and made_of[m][n] is None
        )
        for n in range(len(inner))
    ]


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
        given, out = _moves(one, after.get(name), case, still)
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


def _moves(
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
