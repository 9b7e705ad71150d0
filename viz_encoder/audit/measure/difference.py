"""Distance between two outputs, and their rows that are not finite."""

from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.measure.setting import Case


class Gap(NamedTuple):
    """The largest difference between two outputs, and where it is."""

    amount: float
    sample: int
    query: int


def gap(one: Tensor, other: Tensor, rows: Bool[Tensor, "batch token"] | None = None) -> Gap:
    """Largest difference over valid rows; NaN in both counts as equal, NaN in one as inf."""
    one, other = one.detach().double(), other.detach().double()
    away = (one - other).abs()
    away = torch.where(one.isnan() & other.isnan(), 0.0, away).nan_to_num(torch.inf, torch.inf)
    away = away.masked_fill(one.eq(other), 0.0)
    if away.ndim == 2:
        away = away[:, None]
    away = away.flatten(2).amax(dim=2)
    if rows is not None and away.shape == rows.shape:
        away = away.masked_fill(~rows, 0.0)
    flat = int(away.argmax())
    return Gap(float(away.flatten()[flat]), flat // away.shape[1], flat % away.shape[1])


def own_rows(out: Tensor, sample: int, real: Bool[Tensor, " token"]) -> Tensor:
    """The rows of one sample's real tokens, as a batch of one; its only row if it is pooled."""
    return out[sample][None] if out.ndim == 2 else out[sample, real][None]


def nonfinite_rows(out: Tensor, case: Case) -> Bool[Tensor, "batch row"]:
    """The rows of real tokens, or of pooled samples, that are NaN or inf."""
    bad = ~out.detach().isfinite().flatten(out.ndim - 1).all(dim=-1)
    if bad.ndim == 1:
        return bad[:, None]
    bad = bad.flatten(2).any(dim=-1) if bad.ndim > 2 else bad
    return bad & case.valid if bad.shape == case.valid.shape else bad


def first_nonfinite(out: Tensor, case: Case) -> tuple[int, int] | None:
    """Sample and row of the first of them; None where there is none."""
    for sample, row in nonfinite_rows(out, case).nonzero().tolist():
        return sample, row
    return None
