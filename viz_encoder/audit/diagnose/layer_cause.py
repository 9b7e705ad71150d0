"""Why one layer's map is wrong: by the numbers themselves, then by the mask that it equals."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import torch
from torch import Tensor

from viz_encoder.audit.answer import Diagnosis, is_sure
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose, diagnose_constant
from viz_encoder.audit.diagnose.map_cause import diagnose_maps
from viz_encoder.audit.diagnose.mixing import by_order
from viz_encoder.audit.diagnose.passed_mask import readings_of, suspicions
from viz_encoder.audit.diagnose.seen import Seen
from viz_encoder.audit.diagnose.tried import by_trying
from viz_encoder.audit.measure.constants import too_small
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.maps import in_own_order, maps_of
from viz_encoder.audit.measure.setting import MASS, Case, ModelFault

LOST = ("ignored", "padding_ignored", "pattern_ignored", "causal_lost", "causal_added")
NOT_MASKED = ("ignored", "padding_ignored", "pattern_ignored", "")


def cause_of_layer(context: AuditContext, case: Case, layer: LayerRun, number: int) -> Diagnosis:
    """The cause that a layer's map matches, starting with those that are certain."""
    allowed = context.intent(case, number)
    forbidden = ~allowed & _rows(context, case, number)[:, :, None]
    codes = [one.code for one in suspicions(case.passed, case.valid)]
    banned = _banned(layer, forbidden)
    if banned is None:
        banned = _measured(context, case, number, forbidden)
    if banned is not None and -1.05 < banned < -0.95 and "zero_one_added" in codes:
        return diagnose("zero_one_added")
    if layer.bias is not None and banned == 0 and "zero_one_added" in codes:
        return diagnose("zero_one_added")
    if banned is not None and banned < -1.5:
        return diagnose_constant(banned)
    diagnosis = equal_mask(context, case, layer, number)
    if (
        diagnosis.code in NOT_MASKED
        and (value := too_small(context.subject, case, grad=not context.grad_fault)) is not None
    ):
        return diagnose_constant(value)
    if diagnosis.code in NOT_MASKED and "int_inverted" in codes:
        return diagnose("int_inverted")
    if diagnosis.code in NOT_MASKED and "zero_one_added" in codes:
        return diagnose("zero_one_added", sure=False)
    if diagnosis.code in ("sorted", "other_sample") and case is context.base:
        return by_order(context, case, context.out) or diagnosis
    return by_trying(context, case, diagnosis)


def in_another_order(context: AuditContext, case: Case) -> Diagnosis | None:
    """Diagnose maps that are right token by token, but only in the order in which they ran.

    Where that is nothing known by name, it is that order itself.
    """
    turned = in_own_order(context.subject, case, maps_of(context.subject, case))
    if turned is not None and case is context.base:
        context.maps = turned
    for number, layer in enumerate(turned.layers if turned is not None else ()):
        seen = layer.judged(context.intent(case, number), case.valid)
        if float(seen.leak.max()) > MASS or context.misses(seen.lost):
            found = cause_of_layer(context, case, layer, number)
            return found if found.code else diagnose("order")
    return None


def _banned(layer: LayerRun, forbidden: Tensor) -> float | None:
    """The one number that was added to the forbidden scores, where what was added is known."""
    if layer.bias is None:
        return None
    whole = (len(forbidden), layer.bias.shape[1], *forbidden.shape[1:])
    values = layer.bias.expand(whole)[forbidden[:, None].expand(whole)].unique()
    return float(values) if len(values) == 1 else None


def _measured(context: AuditContext, case: Case, number: int, forbidden: Tensor) -> float | None:
    """The log of a forbidden weight over an allowed one where scores are nearly 0; None: unclear.

    A score that only has a number added keeps it there; one that is not masked at all gives 0.
    """
    layers = context.maps_on(case, flat=True).layers
    if len(layers) <= number or layers[number].has_sink:
        return None
    layer, allowed = layers[number], context.intent(case, number)
    total = Spread()
    for rows in layer.row_blocks():
        meant = allowed[:, rows] & _rows(context, case, number)[:, rows, None]
        both = forbidden[:, rows].any(dim=-1) & meant.any(dim=-1)
        weights = layer.weights(rows).double()
        open_ = (weights * meant[:, None]).sum(dim=-1) / meant.sum(dim=-1)[:, None]
        apart = (weights / open_[..., None].clamp_min(1e-300)).log()
        total = total.with_more(
            apart[(forbidden[:, rows] & both[..., None])[:, None].expand_as(apart)]
        )
    return total.mean if total.is_one_number else None


@dataclass(frozen=True)
class Spread:
    """Numbers that come in parts: how many, their sum, and that of their squares."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    infinite: bool = False

    def with_more(self, values: Tensor) -> "Spread":
        """Add values."""
        return Spread(
            self.count + values.numel(),
            self.total + float(values.sum()),
            self.squares + float((values * values).sum()),
            self.infinite or not bool(values.isfinite().all()),
        )

    @property
    def mean(self) -> float:
        """Mean over all."""
        return self.total / self.count

    @property
    def is_one_number(self) -> bool:
        """Whether they are all about the same: their standard deviation is at most 0.5."""
        if not self.count or self.infinite:
            return False
        rest = self.squares - self.total**2 / self.count
        return rest <= 0.25 * max(1, self.count - 1)


def equal_mask(context: AuditContext, case: Case, layer: LayerRun, number: int) -> Diagnosis:
    """The cause whose mask the wrong heads match, on this batch and on others."""
    found = _equal_mask(context, case, layer, number)
    if found.code or layer.sure:
        return found
    layers = context.maps_on(case, flat=True).layers
    if len(layers) <= number:
        return found
    flat = _equal_mask(context, case, layers[number], number, flat=True)
    return flat if flat.code else found


def _equal_mask(
    context: AuditContext, case: Case, layer: LayerRun, number: int, *, flat: bool = False
) -> Diagnosis:
    first = _seen(context, case, layer, number)
    found = _explained(context, first, context.further(case), number, flat=flat)
    if found.code or case.valid.shape[1] not in context.other_lengths:
        return found
    # What is lost only from some length on is right in shorter batches, which contradict it.
    longer = _explained(context, first, context.as_long_as(case), number, flat=flat)
    return longer if longer.code in LOST and is_sure(longer.cause) else found


def _explained(
    context: AuditContext, first: Seen, others: Sequence[Case], number: int, *, flat: bool
) -> Diagnosis:
    heads = first.wrong.any(dim=3).any(dim=2).any(dim=0)
    heads = heads if bool(heads.any()) else torch.ones_like(heads)
    seen = [first]
    for other in others:
        with suppress(ModelFault):
            layers = context.maps_on(other, flat=flat).layers
            if len(layers) > number:
                seen.append(_seen(context, other, layers[number], number))
    return diagnose_maps([one._replace(opened=one.opened[:, heads]) for one in seen], heads)


def _seen(context: AuditContext, case: Case, layer: LayerRun, number: int) -> Seen:
    # A row whose scores are all the lowest number is uniform: it is empty.
    opened = layer.looked_at(MASS, unless_even=True)
    allowed, pattern = context.intent(case, number), context.pattern(case, number)
    layers = case.allowed if len(case.allowed) > 1 else ()
    return Seen(opened, allowed, pattern, case.valid, passed=readings_of(case), layers=layers)


def _rows(context: AuditContext, case: Case, number: int) -> Tensor:
    """Real tokens that may attend to anything at all, "batch query"."""
    return case.valid & context.intent(case, number).any(dim=-1)
