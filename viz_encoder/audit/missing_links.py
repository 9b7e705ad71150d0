"""Links that are meant and missing, by gradients, and tokens that a pooled vector never reads.

A gradient that is small but not 0 may be rounding, or what a mask of -50 lets through. It is
measured again in float64, with weights so small that all scores are nearly equal.

A maximum reads a token only where it is the largest, and a sharp softmax reads only one. So a
token counts as never read only if no input, no other place and no flat softmax shows that it is.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.measure.changes import content_of, with_content
from viz_encoder.audit.measure.flex_masks import mapped
from viz_encoder.audit.measure.gradients import Gradients
from viz_encoder.audit.measure.pooled_rows import Amounts, pooled_rows
from viz_encoder.audit.measure.setting import GRADIENT, Case
from viz_encoder.audit.measure.token_axis import by_token, from_tokens, has_tokens
from viz_encoder.audit.report import Check, fails

CLOSED = 1e-9  # in float64, a smaller share of the expected gradient is no link
GAP = 1e6  # between a link that is open and the next that is closed; a decay has none
FAINT = 1e-4  # in the model's own dtype, a smaller share of it may be rounding
KeyFlags = Bool[Tensor, "row key"]


class MissingLinks(NamedTuple):
    """Pairs that are closed, pairs that may be, and why the latter cannot be told."""

    closed: KeyFlags
    faint: KeyFlags
    why: str = ""

    @property
    def unclear(self) -> str:
        """What gradients as small as rounding leave open, and what to do; "" if nothing."""
        if not bool(self.faint.any()):
            return ""
        return (
            f"Links that are missing: {int(self.faint.sum())} gradients are as small as rounding, "
            f"and in float64, which would tell, the model does not run ({self.why}). Let it run "
            "there (model.double()), or let its softmax be seen: scores.softmax(dim=-1)."
        )


def missing_links(context: AuditContext, case: Case, found: Gradients) -> MissingLinks:
    """The keys that each row must know of by the intent, and does not."""
    # No token need see itself where no layer's intent lets it.
    itself = torch.eye(case.valid.shape[1], dtype=torch.bool, device=case.valid.device)
    must = context.must(case) & ~(itself & ~torch.stack(case.allowed).any(dim=0))
    wanted = torch.stack([must[s, q] & case.valid[s] for s, q in found.rows])
    small = wanted & (_own(found, found.relative()) <= GRADIENT)
    nothing = torch.zeros_like(wanted)
    if not bool(small.any()):
        return MissingLinks(nothing, nothing)

    def double(one: Tensor) -> Tensor:
        return one.double() if one.is_floating_point() else one

    exact = Case(double(case.x), case.valid, case.allowed, mapped(case.passed, double))
    flat = _flat_gradients(context, exact, torch.float64, len(found.rows))
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


TokenFlags = Bool[Tensor, "batch token"]
OTHER_INPUTS = 8
MOST_PLACES = 64  # that the tokens are moved by
LARGE = 1000.0  # times the size of the inputs, so that positions add little to them


def rows_never_pooled(context: AuditContext, case: Case, wanted: TokenFlags) -> TokenFlags:
    """The wanted tokens whose rows no pooled vector changes with."""
    pooled = None if context.is_pooled else context.scope.pooled
    # Inside a model these may be scores, and the softmax of a single score has no gradient.
    several = (wanted.sum(dim=1, keepdim=True) > 1) | (pooled is not None)
    wanted = wanted & case.valid & several
    read = partial(pooled_rows, context.subject, pooled=pooled, beside=True)
    return _never_read(context, case, wanted, read)


def takes_one_row(context: AuditContext, case: Case, wanted: TokenFlags) -> bool:
    """Whether each vector is one row on all inputs that are tried, though several are wanted.

    Over many inputs a row that the ids choose may be any, and so each seems to be read.
    """
    pooled = None if context.is_pooled else context.scope.pooled
    several = wanted.sum(dim=1) > 1
    others = 0 if context.setting.fixed or context.setting.reads_input else OTHER_INPUTS
    for number in range(others + 1 if bool(several.any()) else 0):
        other = context.setting.case(case.valid, seed=context.setting.seed + number)
        amounts = pooled_rows(context.subject, other if number else case, pooled)
        if amounts is None or bool(((amounts > GRADIENT).sum(dim=1)[several] != 1).any()):
            return False
    return bool(several.any())


def find_unread(context: AuditContext, case: Case) -> Check | None:
    """A token that a sample's one row never changes with, though every token is to know of it."""
    lost = _tokens_never_read(context, case)
    if not bool(lost.any()):
        return None
    sample, key = (int(n) for n in lost.nonzero()[0])
    text = (
        f"The output of sample {sample} never changes with {told_place(case, sample, key)} which "
        f"your intent lets every token know of; {int(lost.sum())} tokens are never read."
    )
    cure = "Compare the mask that reaches the attention or pooling over the tokens with valid."
    return fails(text, cure=cure, sample=sample, key=key, amount=0.0)


def _tokens_never_read(context: AuditContext, case: Case) -> TokenFlags:
    """The tokens that no output of a sample changes with, of those each row is meant to know of."""
    must = context.must(case) | ~case.judged[:, :, None]
    wanted = must.all(dim=1) & case.valid & case.judged.any(dim=1, keepdim=True)

    def read(one: Case) -> Amounts | None:
        found = context.gradients_on(one)
        return _own_of(found) if isinstance(found, Gradients) else None

    return _never_read(context, case, wanted, read)


def _own_of(found: Gradients) -> Amounts:
    """Each sample's gradients by its own tokens, relative to the largest."""
    own = _own(found, found.values)
    return own / own.amax(dim=1, keepdim=True).clamp_min(1e-300)


def _never_read(
    context: AuditContext, case: Case, wanted: TokenFlags, read: Callable[[Case], Amounts | None]
) -> TokenFlags:
    left = wanted
    for amounts in _tries(context, case, wanted, read):
        if amounts is None:
            return torch.zeros_like(wanted)
        left = left & ~(amounts > GRADIENT)  # NaN shows nothing
        if not bool(left.any()):
            break
    return left


def _tries(
    context: AuditContext, case: Case, wanted: TokenFlags, read: Callable[[Case], Amounts | None]
) -> Iterator[Amounts | None]:
    """Each try is another in which a token would be read that can be."""
    yield read(case)
    with context.subject.flattened():
        yield read(case)
    if context.setting.reads_input:  # with other tokens, others are meant
        return
    for number in range(1, 1 if context.setting.fixed else OTHER_INPUTS + 1):
        yield read(context.setting.case(case.valid, seed=context.setting.seed + number))
    content = content_of(case)
    if content is not None and has_tokens(content, case.valid.shape[1]):
        for step in range(min(int(wanted.sum(dim=1).max()), MOST_PLACES)):
            yield read(with_content(case, _moved(content, wanted, step)))


def _moved(content: Tensor, wanted: TokenFlags, step: int) -> Tensor:
    """Large inputs, each of a wanted token so many wanted places further: all have their turn."""
    tokens = by_token(content, wanted.shape[1]).clone()
    for sample, ones in enumerate(wanted):
        tokens[sample, ones] = tokens[sample, ones].roll(step, dims=0)
    return from_tokens(tokens * LARGE if tokens.is_floating_point() else tokens, content)


def told_place(case: Case, sample: int, token: int) -> str:
    """The token, and whether it is the first or last real one, with a comma behind it."""
    real = case.valid[sample].nonzero()[:, 0].tolist()
    which = {real[-1]: "the last", real[0]: "the first"} if len(real) > 1 else {}
    return f"token {token}," + (f" {which[token]} real one," if token in which else "")
