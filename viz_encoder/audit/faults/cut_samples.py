"""Compares each padded sample with itself without its padding, its positions shifted too."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.calling import signature_of
from viz_encoder.audit.diagnose.right_on import is_right_on
from viz_encoder.audit.measure.changes import Gap, gap, own_rows
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.reach import must_know
from viz_encoder.audit.measure.setting import MASS, Case, ModelFault
from viz_encoder.audit.measure.watch import hooked
from viz_encoder.audit.report import Check, Verdict, raised, untested
from viz_encoder.errors import InputError
from viz_encoder.shown import listed


class CutSamples(NamedTuple):
    """The result of `cut_samples`."""

    n_compared: int
    worst: Gap
    refused: Sequence[ModelFault]  # raised at lengths that the model accepts in other batches
    why_not: str  # why a sample was not compared, and what to give; "" if all were
    too_short: int = 0  # the number of tokens of a sample of which the model takes no batch


def cut_samples(context: AuditContext, case: Case, out: Tensor) -> CutSamples:
    """Compare every padded sample, except in the rows that may know of padding by the intent."""
    n_compared, worst, why_not = 0, Gap(0.0, 0, 0), ""
    torn: list[int] = []
    refused: list[ModelFault] = []
    too_short = 0
    reached = must_know(case.allowed, context.n_layers or case.valid.shape[1])
    apart_from = ~(reached & ~case.valid[:, None, :]).any(dim=2)
    for sample, real in enumerate(case.valid):
        if bool(real.all()) or not bool(real.any()):
            continue
        alone = _alone(context, case, sample)
        torn += [sample] if alone is None else []
        if alone is None or isinstance(alone, str):
            why_not = alone or f"the real tokens of sample{_several(torn)} do not stand together"
            continue
        try:
            other = context.subject.run(alone)
        except ModelFault as fault:
            why_not = _refusal(context, alone, fault)
            refused += [] if why_not else [fault]
            too_short = int(real.sum()) if why_not else too_short
            continue
        n_compared += 1
        rows = apart_from[sample, real][None]
        rows = rows.all(dim=1, keepdim=True) if out.ndim == 2 else rows
        apart = gap(own_rows(out, sample, real), other, rows)
        worst = max(worst, apart._replace(sample=sample))
    return CutSamples(n_compared, worst, refused, why_not, too_short)


def not_compared(context: AuditContext, cut: CutSamples) -> Check | None:
    """What to say of samples that could not be run or compared alone; None if there are none."""
    why_not = cut.why_not
    if cut.refused:
        answer = raised(cut.refused[0], title="Alone and with padding")
        if cut.n_compared or answer.verdict is not Verdict.FAIL:
            return answer
        why_not = f"without its padding, {cut.refused[0].clause}"
    if not why_not:
        return None
    others = " The other samples agree." if cut.n_compared else ""
    found = untested(f"Alone and with padding: {why_not}.{others}")
    if not (cut.n_compared and cut.too_short and context.was_asked_for(cut.too_short)):
        return found
    cause = (
        "consistent with: a size or a part of a mask that is fixed, where it is to be of tokens."
    )
    # It took so many tokens with padding beside them, and other samples without any.
    cure = (
        f"If the model is meant to take no {cut.too_short} tokens, give the lengths that it takes: "
        f"AuditScope(lengths=[{context.base.valid.shape[1]}])."
    )
    return found.but(verdict=Verdict.WARN, cause=cause, cure=cure)


def _alone(context: AuditContext, case: Case, sample: int) -> Case | str | None:
    """The sample without its padding, or why it cannot be compared; None if its tokens are torn."""
    real = case.valid[sample]
    try:
        alone = context.setting.alone(case, sample)
    except InputError as fault:
        return f"your intent cannot be asked about {int(real.sum())} tokens ({fault})"
    if alone is None:
        return None
    pairs = zip(alone.allowed, case.allowed, strict=True)
    if all(torch.equal(a[0], b[sample][real][:, real]) for a, b in pairs):
        return alone
    return (
        f"your intent links the {int(real.sum())} tokens of sample {sample} otherwise when their "
        "padding is cut off"
    )


def _several(samples: list[int]) -> str:
    return f"{'s' if len(samples) > 1 else ''} {listed([str(one) for one in samples])}"


def _refusal(context: AuditContext, alone: Case, fault: ModelFault) -> str:
    """Why nothing is compared, if the model accepts no batch of this length; "" if it does."""
    n_tokens = alone.valid.shape[1]
    whole = torch.ones_like(context.setting.padding(n_tokens))
    try:
        context.subject.run(context.setting.case(whole))
    except (ModelFault, InputError):
        return (
            f"cut to its {n_tokens} tokens, {fault.clause}, as it does for any batch of "
            f"{n_tokens} tokens; to try it, give AuditInputs(valid=…) whose samples have as many "
            "real tokens as the model takes"
        )
    return ""


def is_another_input(context: AuditContext, case: Case, sample: int) -> bool:
    """Whether the sample differs because of its length alone, and nobody asked for that length.

    True if attention is correct on the sample with its padding, in a batch of one, and wrong
    without it: what the model does then depends on the number of tokens, not on the padding.
    """
    alone = context.setting.alone(case, sample)
    if alone is None or context.was_asked_for(alone.valid.shape[1]):
        return False
    whole = context.setting.whole(case, sample)
    return is_right_on(context, whole) is True and is_right_on(context, alone) is False


def of_left_out(context: AuditContext, case: Case, worst: Gap, who: str) -> Check | None:
    """What differs alone, where other links may be left out alone; None where it is a fault.

    Sparse attention may choose its pairs by the number of tokens (random or global blocks), which
    maps show; places that are read from no map may as well be counted from the padding.
    """
    if not context.scope.may_leave_out:
        return None
    same = _opens_the_same(context, case, worst.sample)
    if same:
        return None
    text = (
        f"{who} of sample {worst.sample} differs by {worst.amount:.2g} without its padding. That "
        "is right only if the number of tokens, padding too, is to choose what is left out."
    )
    cure = (
        "If it is not, count places, blocks and shares by the sample's own length, valid.sum(1), "
        "and not by x.shape[1]."
    )
    verdict = Verdict.WARN if same is None else Verdict.NOT_TESTED
    return Check(verdict, text, cure=cure, sample=worst.sample, amount=worst.amount)


def _opens_the_same(context: AuditContext, case: Case, sample: int) -> bool | None:
    """Whether the same pairs are open alone as with padding; None where no maps tell."""
    alone, real = context.setting.alone(case, sample), case.valid[sample]
    assert alone is not None  # it was compared
    whole = context.setting.whole(case, sample)
    pair = [maps_of(context.subject, one).layers for one in (whole, alone)]
    if not pair[0] or len(pair[0]) != len(pair[1]):
        return None
    return all(
        torch.equal(a.looked_at(MASS)[:, :, real][..., real], b.looked_at(MASS))
        for a, b in zip(*pair, strict=True)
    )


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

    with hooked(taking, give, before=True):
        yield
