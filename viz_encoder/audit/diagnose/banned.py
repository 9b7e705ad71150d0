"""What is left of the scores that are banned: a number that was added, or that softmax shows."""

import math
from dataclasses import dataclass

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose, diagnose_constant
from viz_encoder.audit.diagnose.passed_mask import suspicions
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.report import Diagnosis

NEAR_0 = -0.05  # of scores that are nearly 0, about so much is chance


def of_number(value: float | None, case: Case) -> Diagnosis | None:
    """That too little is added to forbidden scores; or 0 and 1, where these are passed."""
    if value is not None and -1.05 < value < -0.95 and adds_zero_and_one(case):
        return diagnose("zero_one_added")
    return None if value is None or value >= NEAR_0 else diagnose_constant(value)


def adds_zero_and_one(case: Case) -> bool:
    """Whether a float mask of 0 and 1 is passed."""
    return any(one.code == "zero_one_added" for one in suspicions(case.passed, case.valid))


def added(layer: LayerRun, forbidden: Tensor) -> float | None:
    """The one number that was added to the forbidden scores, where what was added is known."""
    if layer.bias is None:
        return None
    whole = (len(forbidden), layer.bias.shape[1], *forbidden.shape[1:])
    values = layer.bias.expand(whole)[forbidden[:, None].expand(whole)].unique()
    return float(values) if len(values) == 1 else None


def measured(context: AuditContext, case: Case, number: int) -> float | None:
    """The log of a forbidden weight over an allowed one where scores are nearly 0; None: unclear.

    A score that only has a number added keeps it there; one that is not masked at all gives 0.
    """
    found = left_to(context, case, number)
    return found.mean if found.is_one_number and not found.n_closed else None


def left_to(context: AuditContext, case: Case, number: int) -> "NumberSums":
    """The logs of forbidden weights over allowed ones where scores are nearly 0."""
    total, layers = NumberSums(), context.maps_on(case, flat=True).layers
    if len(layers) <= number:
        return total
    layer, allowed = layers[number], context.intent(case, number)
    real = real_rows(context, case, number)[:, :, None]
    forbidden = ~allowed & real
    for rows in layer.row_blocks():
        meant = (allowed & real)[:, rows]
        both = forbidden[:, rows].any(dim=-1) & meant.any(dim=-1)
        weights = layer.weights(rows).double()
        open_ = (weights * meant[:, None]).sum(dim=-1) / meant.sum(dim=-1)[:, None]
        apart = (weights / open_[..., None].clamp_min(1e-300)).log()
        total = total.with_more(
            apart[(forbidden[:, rows] & both[..., None])[:, None].expand_as(apart)]
        )
    return total


@dataclass(frozen=True)
class NumberSums:
    """Numbers that come in parts: how many, their sum, and that of their squares."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    n_closed: int = 0  # those that are -inf, which the others leave out

    def with_more(self, values: Tensor) -> "NumberSums":
        """Add values."""
        closed = values.isneginf()
        values = values[~closed]
        return NumberSums(
            self.count + values.numel(),
            self.total + float(values.sum()),
            self.squares + float((values * values).sum()),
            self.n_closed + int(closed.sum()),
        )

    @property
    def mean(self) -> float:
        """Mean over all."""
        return self.total / self.count

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        rest = self.squares - self.total**2 / self.count
        return math.sqrt(max(0.0, rest) / max(1, self.count - 1))

    @property
    def is_low(self) -> bool:
        """Whether the mean is below 0 by more than the standard deviation; open pairs are not."""
        return self.count > 0 and self.mean < min(NEAR_0, -self.deviation)

    @property
    def is_one_number(self) -> bool:
        """Whether all are about the same: closer to one another than to 0, and within 0.5."""
        if not self.count or not math.isfinite(self.squares):
            return False
        return self.deviation <= min(0.5, max(-NEAR_0, abs(self.mean)) / 10)


def real_rows(context: AuditContext, case: Case, number: int) -> Tensor:
    """Real tokens that may attend to anything at all, "batch query"."""
    return case.valid & context.intent(case, number).any(dim=-1)
