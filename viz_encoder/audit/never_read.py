"""Finds real tokens that a sample's vector is made without, though they are meant to be in it.

A maximum reads a token only where it is the largest, and a sharp softmax reads only one. So a
token counts as never read only if no input, no other place and no flat softmax shows that it is.
"""

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.measure.changed_tokens import content_of, with_content
from viz_encoder.audit.measure.gradients import Gradients
from viz_encoder.audit.measure.pooled_rows import Amounts, pooled_rows, read_rows
from viz_encoder.audit.measure.setting import GRADIENT, Case
from viz_encoder.audit.measure.token_axis import by_token, from_tokens, has_tokens
from viz_encoder.audit.report import Answer, Verdict

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
    return _never_read(context, case, wanted, lambda one: read_rows(context.subject, one, pooled))


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


def find_unread(context: AuditContext, case: Case) -> Answer | None:
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
    return Answer(Verdict.FAIL, text, cure=cure, sample=sample, key=key, amount=0.0)


def _tokens_never_read(context: AuditContext, case: Case) -> TokenFlags:
    """The tokens that no output of a sample changes with, of those each row is meant to know of."""
    must = context.must(case) | ~case.judged[:, :, None]
    wanted = must.all(dim=1) & case.valid & case.judged.any(dim=1, keepdim=True)

    def read(one: Case) -> Amounts | None:
        found = context.gradients_on(one)
        return _own(found) if isinstance(found, Gradients) else None

    return _never_read(context, case, wanted, read)


def _own(found: Gradients) -> Amounts:
    """Each sample's gradients by its own tokens, relative to the largest."""
    own = torch.stack([found.values[n, sample] for n, (sample, _) in enumerate(found.rows)])
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
