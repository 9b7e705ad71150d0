"""The picture of a failing layer and head: intended, passed and observed, leaks marked."""

from dataclasses import replace

import numpy as np
import torch
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
    rows = case.valid[sample] & intended.any(dim=-1)
    drawn = _picture(sample, intended, weights, rows, MASS)
    title = f"Layer {layer}, head {head}, sample {sample}"
    drawn = replace(drawn, title=title, observed_is="weights", layer=layer, head=head)
    return _with_passed(drawn, case, intended)


def picture_of_cross(
    name: str,
    allowed: Bool[Tensor, "query memory"],
    weights: Float[Tensor, "query memory"],
    rows: Bool[Tensor, " query"],
    cell: tuple[int, int],
) -> Picture:
    """One map (head, sample) of cross-attention, whose keys are a memory's."""
    head, sample = cell
    title = f"Cross-attention in {name}, head {head}, sample {sample}"
    drawn = _picture(sample, allowed, weights, rows, MASS)
    return replace(drawn, title=title, observed_is="weights", head=head)


def picture_of_gradient(
    case: Case, relative: Float[Tensor, "query key"], known: Bool[Tensor, "query key"], sample: int
) -> Picture:
    """Dependencies of one sample's outputs, beside those allowed."""
    rows = case.valid[sample] & known.any(dim=-1)
    return _with_passed(_picture(sample, known, relative, rows, GRADIENT), case, known)


def picture_of_pooled(
    relative: Float[Tensor, " key"], known: Bool[Tensor, "1 key"], sample: int
) -> Picture:
    """Dependencies of one sample's pooled vector, in one row."""
    drawn = _picture(sample, known, relative[None], known.any(dim=-1), GRADIENT)
    return replace(drawn, title=f"The pooled vector of sample {sample}")


def picture_of_other_sample(
    relative: Float[Tensor, "query key"], valid: Bool[Tensor, " query"], sample: int, other: int
) -> Picture:
    """Dependencies of one sample's outputs on the tokens of another, of which none is allowed."""
    drawn = _picture(
        sample, torch.zeros_like(relative, dtype=torch.bool), relative, valid, GRADIENT
    )
    return replace(drawn, title=f"Outputs of sample {sample}, by the tokens of sample {other}")


def _picture(
    sample: int, intended: Tensor, observed: Tensor, rows: Tensor, least: float
) -> Picture:
    """Without what was passed; only `rows` are judged."""
    seen = observed.nan_to_num(1.0) > least
    return Picture(
        title=f"After all layers, sample {sample}",
        intended=_bool(intended),
        observed=observed.detach().cpu().double().numpy(),
        observed_is="gradients",
        leaks=_bool(seen & ~intended & rows[:, None]),
        lost=_bool(~seen & intended & rows[:, None]),
        sample=sample,
    )


def _with_passed(drawn: Picture, case: Case, intended: Tensor) -> Picture:
    passed, sense = _passed(case, drawn.sample, intended)
    return replace(drawn, passed=passed, passed_as=sense)


def _passed(case: Case, sample: int, intended: Tensor) -> tuple[np.ndarray | None, str]:
    """The reading nearest to the intent, for nothing tells which was meant."""
    found = readings(case.passed, case.valid)
    if not found:
        return None, ""
    near = min(found, key=lambda one: int((one.allowed[sample] ^ intended).sum()))
    return _bool(near.allowed[sample]), near.sense


def _bool(mask: Tensor) -> Bool[np.ndarray, "query key"]:
    return mask.detach().cpu().numpy().astype(bool)
