"""The picture of a failing layer and head: intended, passed and observed, leaks marked."""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.passed_mask import readings
from viz_encoder.audit.measure.setting import GRADIENT, MASS, Case
from viz_encoder.audit.report import Picture


def picture_of_map(
    context: AuditContext,
    case: Case,
    weights: Float[Tensor, "query key"],
    cell: tuple[int, int, int],
) -> Picture:
    """One map (layer, head, sample) beside its intent."""
    layer, head, sample = cell
    intended = context.intent(case, layer)[sample]
    drawn = _picture(case, sample, intended, weights, MASS)
    title = f"Layer {layer}, head {head}, sample {sample}"
    return replace(drawn, title=title, observed_is="weights", layer=layer, head=head)


def picture_of_gradient(
    case: Case, relative: Float[Tensor, "query key"], known: Bool[Tensor, "query key"], sample: int
) -> Picture:
    """Dependencies of one sample's outputs, beside those allowed."""
    return _picture(case, sample, known, relative, GRADIENT)


def _picture(case: Case, sample: int, intended: Tensor, observed: Tensor, least: float) -> Picture:
    judged = (case.valid[sample] & intended.any(dim=-1))[:, None]
    seen = observed.nan_to_num(1.0) > least
    passed, sense = _passed(case, sample, intended)
    return Picture(
        title=f"After all layers, sample {sample}",
        intended=_bool(intended),
        observed=observed.detach().cpu().double().numpy(),
        observed_is="gradients",
        leaks=_bool(seen & ~intended & judged),
        lost=_bool(~seen & intended & judged),
        passed=passed,
        passed_as=sense,
        sample=sample,
    )


def _passed(case: Case, sample: int, intended: Tensor) -> tuple[np.ndarray | None, str]:
    """The reading nearest to the intent, for nothing tells which was meant."""
    found = readings(case.passed, case.valid)
    if not found:
        return None, ""
    near = min(found, key=lambda one: int((one.allowed[sample] ^ intended).sum()))
    return _bool(near.allowed[sample]), near.sense


def _bool(mask: Tensor) -> Bool[np.ndarray, "query key"]:
    return mask.detach().cpu().numpy().astype(bool)
