"""Finds intended links that a model lacks, from gradients, where its maps cannot be seen.

A gradient that is small but not 0 may be rounding, or what a mask of -50 lets through. It is
measured again in float64, with weights so small that all scores are nearly equal.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.measure.gradients import Gradients
from viz_encoder.audit.measure.passed import mapped
from viz_encoder.audit.measure.setting import GRADIENT, Case

CLOSED = 1e-9  # in float64, a smaller share of the expected gradient is no link
GAP = 1e6  # between a link that is open and the next that is closed; a decay has none
FAINT = 1e-4  # in the model's own dtype, a smaller share of it may be rounding
KeyFlags = Bool[Tensor, "row key"]


class MissingLinks(NamedTuple):
    """Pairs that are closed, pairs that may be, and why the latter cannot be told."""

    closed: KeyFlags
    faint: KeyFlags
    why: str = ""


def missing_links(context: AuditContext, case: Case, found: Gradients) -> MissingLinks:
    """The keys that each row must know of by the intent, and does not."""
    must = context.must(case)
    must = must & ~_only_by_a_residual(case)
    wanted = torch.stack([must[s, q] & case.valid[s] for s, q in found.rows])
    small = wanted & (_own(found, found.relative()) <= GRADIENT)
    nothing = torch.zeros_like(wanted)
    if not bool(small.any()):
        return MissingLinks(nothing, nothing)
    flat = _flat_gradients(context, _in_float64(case), torch.float64, len(found.rows))
    if not isinstance(flat, str) and flat.rows == found.rows:
        behind = _behind_gap(_without_residual(flat, case), wanted)
        return MissingLinks(small & _below(flat, case, CLOSED) & behind, nothing)
    why = flat if isinstance(flat, str) else ""
    flat = _flat_gradients(context, case, None, len(found.rows))
    if isinstance(flat, str):
        return MissingLinks(nothing, small, why)
    closed = small & (_own(found, found.values) == 0) & (_own(flat, flat.values) == 0)
    return MissingLinks(closed, small & _below(flat, case, FAINT) & ~closed, why)


def _flat_gradients(
    context: AuditContext, case: Case, dtype: torch.dtype | None, n_rows: int
) -> Gradients | str:
    with context.subject.flattened(dtype):
        try:
            return context.gradients_on(case, n_rows)
        except Exception as fault:  # the model's code may hold float32 tensors of its own
            return f"{type(fault).__name__}: {fault}"


def _in_float64(case: Case) -> Case:
    def double(one: Tensor) -> Tensor:
        return one.double() if one.is_floating_point() else one

    return Case(double(case.x), case.valid, case.allowed, mapped(case.passed, double))


def _only_by_a_residual(case: Case) -> Bool[Tensor, "batch query key"]:
    """Tokens themselves, where no layer's intent lets them see themselves: none need do so."""
    itself = torch.eye(case.valid.shape[1], dtype=torch.bool, device=case.valid.device)
    return itself & ~torch.stack(case.allowed).any(dim=0)


def _own(found: Gradients, values: Tensor) -> Float[Tensor, "row key"]:
    """The values of each row's own sample."""
    return torch.stack([values[n, sample] for n, (sample, _) in enumerate(found.rows)])


def _below(flat: Gradients, case: Case, share: float) -> KeyFlags:
    """Where a gradient is below this share of the one expected after as many layers."""
    values, hops = _own(flat, flat.values), _hops(flat, case)
    itself, once = values[hops == 0].median(), values[hops == 1]
    most = float(once.max()) if once.numel() else 0.0
    if float(itself) == 0:  # no residual, and so nothing to tell what a layer leaves of a gradient
        return (values < share * most) & (hops == 1).to(values.device) | (values == 0)
    expected = float(itself) * torch.tensor(most / float(itself), dtype=torch.float64) ** hops
    return (values < share * expected.to(values.device)) | (values == 0)


def _without_residual(flat: Gradients, case: Case) -> Float[Tensor, "row key"]:
    """The values, with each token's own no larger than any layer leaves of another's."""
    values, hops = _own(flat, flat.values), _hops(flat, case).to(flat.values.device)
    once = values[hops == 1]
    return values.clamp(max=float(once.max())) if once.numel() else values


def _behind_gap(values: Tensor, wanted: KeyFlags) -> KeyFlags:
    """Keys far below the next larger one of their row, as under a mask and no decay; and all 0."""
    known = values.masked_fill(~wanted, 0.0).sort(dim=1, descending=True).values
    gaps = known[:, :-1] > GAP * known[:, 1:]
    above = torch.where(gaps, known[:, :-1], 0.0).amax(dim=1, keepdim=True)
    return (values < above) | (values == 0)


def _hops(flat: Gradients, case: Case) -> Int[Tensor, "row key"]:
    """The number of layers that lead from each row's token to each key; n_tokens if none do."""
    together, n_tokens = torch.stack(case.allowed).any(dim=0), case.valid.shape[1]
    step = torch.stack([together[sample] for sample, _ in flat.rows]).float()
    known = F.one_hot(torch.tensor([query for _, query in flat.rows]), n_tokens).to(step)
    hops = torch.where(known > 0, 0, n_tokens)
    for number in range(1, n_tokens):
        known = known + (known[:, None] @ step)[:, 0].sign()
        new = (known > 0) & (hops == n_tokens)
        if not bool(new.any()):
            break
        hops = hops.masked_fill(new, number)
    return hops
