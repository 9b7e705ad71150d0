"""Tokens that outputs of one batch depend on and may not, or must and do not, by gradients."""

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.layer_cause import in_another_order
from viz_encoder.audit.diagnose.mixing import diagnose_mixing
from viz_encoder.audit.diagnose.part_cause import besides_attention, cure_of, unseen_attention
from viz_encoder.audit.diagnose.pooling_cause import by_pooling
from viz_encoder.audit.diagnose.tried import by_trying
from viz_encoder.audit.faults.advice import suggest_leaving_out
from viz_encoder.audit.measure.changes import largest_of
from viz_encoder.audit.measure.gradients import Gradients
from viz_encoder.audit.measure.maps import beside_tokens, named_once
from viz_encoder.audit.measure.setting import GRADIENT, Case
from viz_encoder.audit.missing_links import find_unread, missing_links
from viz_encoder.audit.pictures import (
    picture_of_gradient,
    picture_of_other_sample,
    picture_of_pooled,
)
from viz_encoder.audit.report import Check, Diagnosis, fails


def find_fault(context: AuditContext, case: Case, found: Gradients) -> Check | None:
    """The worst leak of one case; None where there is none."""
    bad = found.values.isnan() & case.valid  # a padded input may be divided by 0
    if bool(bad.any()):
        row = int(bad.flatten(1).any(dim=1).nonzero()[0])
        sample, query = found.rows[row]
        text = (
            f"The gradient of token {query} of sample {sample} is NaN, though its output is not: "
            "one row with nothing to attend to spoils the training of the whole batch."
        )
        if context.is_nonfinite:
            text = f"The gradient of token {query} of sample {sample} is NaN, as outputs are."
        return fails(text, sample=sample, query=query).because(diagnose("empty_row", sure=False))
    relative = found.relative().nan_to_num(0.0)
    leaks = relative.masked_fill(_known(context, case, found), 0.0)
    worst = largest_of(leaks)
    row, other, key = worst
    amount = float(leaks[worst])
    if amount <= GRADIENT:
        return None
    sample, query = found.rows[row]
    if other != sample:
        text = (
            f"The output of token {query} of sample {sample} changes with token {key} of sample "
            f"{other}, by a gradient {amount:.2g} times that of the token it changes most with."
        )
        square = relative.new_zeros(case.valid.shape[1], case.valid.shape[1])
        for number, (one, token) in enumerate(found.rows):
            square[token] = relative[number, other] if one == sample else square[token]
        shot = picture_of_other_sample(square, case.valid[sample], sample, other)
        answer = fails(text, sample=sample, query=query, key=key, amount=amount)
        diagnosis = diagnose_mixing(context, case, context.subject.run(case))
        return answer.but(pictures=(shot,)).because(diagnosis)
    return _leak(context, case, found, leaks, (sample, query, key, amount))


def _leak(
    context: AuditContext,
    case: Case,
    found: Gradients,
    leaks: Tensor,
    cell: tuple[int, int, int, float],
) -> Check:
    sample, query, key, amount = cell
    what = "token" if bool(case.valid[sample, key]) else "padding"
    who = f"sample {sample}" if context.is_pooled else f"token {query} of sample {sample}"
    n_pairs = int((leaks > GRADIENT).sum())
    pairs = "1 pair of tokens is" if n_pairs == 1 else f"{n_pairs} pairs of tokens are"
    text = (
        f"The output of {who} changes with {what} {key}, which your intent does not let it know "
        f"of, directly or over other tokens. The gradient is {amount:.2g} times that of the token "
        f"it changes most with; {pairs} like this."
    )
    answer = fails(text, sample=sample, query=query, key=key, amount=amount)
    if context.is_pooled:
        known = context.may(case)[sample]
        shot = picture_of_pooled(found.within(case)[sample, query], known, sample)
        return answer.but(pictures=(shot,)).because(_of_pooled(context))
    square = found.within(case)
    judged = context.maps.layers and not context.failed("maps", "cross_attention")
    if not context.failed("maps") and (unjudged := _unjudged(context)):
        diagnosis = Diagnosis(
            "not_seen",
            f"not known: no fault was seen in self-attention; not judged: {unjudged}.",
            _what_to_give(context),
        )
    elif judged:
        diagnosis = in_another_order(context, case) or besides_attention(
            context, case, cure=cure_of(case, sample, key)
        )
    else:
        diagnosis = unseen_attention(context, case, square > GRADIENT)
    of_padding = float(leaks.masked_fill(~case.valid, 0.0).max()) <= GRADIENT  # and no real token
    if not diagnosis.code and context.scope.may_leave_out and of_padding:
        diagnosis = diagnose("sampled", sure=False)
    shot = picture_of_gradient(case, square[sample], context.may(case)[sample], sample)
    return answer.but(pictures=(shot,)).because(by_trying(context, case, diagnosis))


def _of_pooled(context: AuditContext) -> Diagnosis:
    """One row a sample: the pooling is to blame where maps are right, or a softmax pools."""
    if not context.failed("maps"):
        right = bool(context.maps.layers)
        found = by_pooling(context, sure=right)
        if right or found.code != "pooling":
            return found
    return diagnose("padding_ignored", sure=False)


def _unjudged(context: AuditContext) -> str:
    """The calls of attention and the keys that no check holds against an intent."""
    calls = [] if context.scope.cross else [one.name for one in context.maps.cross]
    calls += context.maps.left_out
    return ", ".join([*named_once(calls), *beside_tokens(context.maps, varying=True)])


def _what_to_give(context: AuditContext) -> str:
    if context.maps.cross and not context.scope.cross:
        return "To narrow it down, say what cross-attention may look at: AuditScope(cross=…)."
    if not context.maps.left_out:
        return "Mask a key that is made of several tokens for each query that may not see them all."
    return "To narrow it down, audit the module that calls it, with an intent of its own tokens."


def _known(context: AuditContext, case: Case, found: Gradients) -> Tensor:
    """The keys that each row may depend on, "row batch key": none of another sample."""
    may, known = context.may(case), torch.zeros_like(found.values, dtype=torch.bool)
    for number, (sample, query) in enumerate(found.rows):
        known[number, sample] = may[sample, query]
    return known


def find_lost(context: AuditContext, case: Case, found: Gradients) -> Check | None:
    """Pairs that are meant to be linked and are not, where no maps could tell."""
    if context.maps.layers or context.scope.may_leave_out:
        return None
    if context.is_pooled:
        return None if context.setting.fixed else find_unread(context, case)
    links = context.once(missing_links, case, found)
    if not bool(links.closed.any()):
        return None
    row, key = (int(n) for n in links.closed.nonzero()[0])
    sample, query = found.rows[row]
    count = int(links.closed.sum())
    text = (
        f"The output of token {query} of sample {sample} does not change with token {key}, which "
        f"your intent lets it know of, directly or over other tokens; {count} links are missing."
    )
    square = found.within(case)
    for number, (s, q) in enumerate(found.rows):
        square[s, q] = square[s, q].masked_fill(links.closed[number], 0.0)
    shot = picture_of_gradient(case, square[sample], context.must(case)[sample], sample)
    answer = fails(text, sample=sample, query=query, key=key, amount=0.0, pictures=(shot,))
    if case is not context.base:
        return answer  # of which only some rows are known
    wanted = context.must(case) & (square > 0)
    diagnosis = unseen_attention(context, case, wanted | (square > GRADIENT))
    others = square > GRADIENT
    others.diagonal(dim1=1, dim2=2).fill_(value=False)
    if context.maps.cross and not bool(others.any()):
        diagnosis = diagnose("memory_only")
    return suggest_leaving_out(context, answer.because(by_trying(context, case, diagnosis)))
