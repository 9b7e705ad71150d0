"""Other content in some tokens of a batch, and how far outputs are from one another."""

from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.measure.flex_masks import mapped, tensors_in
from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.measure.token_axis import by_token, from_tokens, has_tokens


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


def largest_of(x: Tensor) -> tuple[int, ...]:
    """The place of its largest value."""
    return tuple(int(n) for n in torch.unravel_index(x.argmax(), x.shape))


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


LITTLE = {torch.float32: 0.001, torch.float64: 0.001}  # relative; changes no order
MORE = 0.1  # in half precision
SEED = 3_141_592_653  # not used by audits: noise equal to x would only scale it


def with_changed(case: Case, tokens: Bool[Tensor, "batch token"]) -> Case:
    """The case with other content in those tokens; the same where there is nothing to change."""
    content = content_of(case)
    return case if content is None else with_content(case, _other(content, case, tokens))


def with_content(case: Case, x: Tensor) -> Case:
    """The case with this in place of what its tokens are."""
    if not case.own:
        return replace(case, x=x)
    content = content_of(case)
    return replace(case, passed=mapped(case.passed, lambda one: x if one is content else one))


def content_of(case: Case) -> Tensor | None:
    """The tensor that holds its tokens: x; of a batch of one's own the ids, or else vectors."""
    if not case.own:
        return case.x
    given = list(tensors_in(case.passed))
    shape = case.valid.shape
    ids = [(name, x) for name, x in given if x.shape == shape and not _is_mask(x)]
    vectors = [x for _, x in given if x.is_floating_point() and x.ndim > 2 and len(x) == shape[0]]
    first = [x for name, x in ids if name == "input_ids"] or [x for _, x in ids]
    vectors.sort(key=lambda x: (x.shape[-2:] == 2 * shape[1:], not has_tokens(x, shape[1])))
    return next(iter([*first, *vectors]), None)


def _is_mask(x: Tensor) -> bool:
    return x.is_floating_point() or set(x.unique().tolist()) <= {0, 1}


def _other(x: Tensor, case: Case, tokens: Tensor) -> Tensor:
    """Some noise on vectors; each real id becomes the next larger one of the batch."""
    if x.is_floating_point():
        return _noisy(x, tokens)
    if x.shape != case.valid.shape:
        return x
    known = x[case.valid].unique()
    after = known.roll(-1)[torch.searchsorted(known, x.contiguous()).clamp_max(len(known) - 1)]
    return torch.where(case.valid & tokens, after, x)


def _noisy(x: Tensor, tokens: Tensor) -> Tensor:
    """On those tokens; where x has no axis of them, on the samples of which all are chosen."""
    noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(SEED)).to(x)
    noise = x + noise * LITTLE.get(x.dtype, MORE) * x.abs().mean()
    if not has_tokens(x, tokens.shape[1]):
        return torch.where(tokens.all(dim=1).view(-1, *[1] * (x.ndim - 1)), noise, x)
    noise, plain = (by_token(one, tokens.shape[1]) for one in (noise, x))
    return from_tokens(torch.where(tokens[:, :, None], noise, plain), x)
