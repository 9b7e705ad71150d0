"""Whether token by token with a cache gives what the whole sequence gives at once."""

from typing import Any

import torch
from torch import Tensor

from viz_encoder.audit.answer import Answer, passes, untested
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.longer import at_length, other_cases
from viz_encoder.audit.measure.difference import gap
from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.question import Question
from viz_encoder.audit.report import Verdict
from viz_encoder.model.mask_mods import n_needed

CAUSE = (
    "consistent with: a causal mask aligned to the wrong corner (with 2 queries and 5 "
    "keys, query 0 is token 3), or positions that start at 0 in each piece."
)
CURE = "allowed = torch.ones(n_queries, n_keys).tril(n_keys - n_queries).bool()"


def ask(context: AuditContext) -> Answer:
    """Judge decoding one token at a time; report decoding a prefix and then pairs."""
    step = context.scope.step
    if step is None:
        return untested("A KV cache: no AuditScope(step=…) was given.")
    for case, whole in (
        (context.full, context.subject.run(context.full)),
        *other_cases(context, padded=False),
    ):
        found = _stepwise(context, case, whole)
        if found is not None:
            return found
    padded = _padded(context) if takes_mask(step) and context.setting.pads else None
    if padded is not None:
        return padded
    return passes("Token by token and in pieces, it gives the same as the whole sequence at once.")


def _stepwise(context: AuditContext, case: Case, whole: Tensor) -> Answer | None:
    """The steps against the whole sequence at once."""
    n_tokens = case.valid.shape[1]
    longer = case is not context.full
    at = f" {at_length(case)}" if longer else ""
    ways = {"token by token": [1] * n_tokens, "in pieces": _pieces(n_tokens)}
    for name, sizes in ways.items():
        try:
            out = _stepped(context, case, sizes)
        except Exception as fault:
            text = f"Run {name}{at}, step raised {type(fault).__name__}: {fault}."
            if name == "in pieces":
                return None if longer else passes(f"Token by token it agrees. {text}")
            asked = not longer or context.was_asked_for(n_tokens)
            return Answer(Verdict.FAIL, text) if asked else None
        apart = gap(out, whole)
        if apart.amount > context.tolerance(whole):
            same = (out - whole).abs().flatten(2).amax(dim=(0, 2)) <= context.tolerance(whole)
            first = f"; the first that differs is token {int((~same).int().argmax())}"
            text = (
                f"Run {name} with a cache{at}, token {apart.query} of sample {apart.sample} "
                f"differs by {apart.amount:.2g} from running the whole sequence at once{first}."
            )
            if context.scope.may_leave_out:
                return _open(text)
            if longer and not context.was_asked_for(n_tokens):
                return untested(text)
            verdict = Verdict.FAIL if name == "token by token" else Verdict.INFO
            found = Answer(
                verdict, text, sample=apart.sample, query=apart.query, amount=apart.amount
            )
            return found if longer else found._replace(cause=CAUSE, cure=CURE, code="corner")
    return None


def takes_mask(step: Any) -> bool:
    """Whether it takes what the caller's code passes, as a third argument."""
    return n_needed(step) == 3


def _padded(context: AuditContext) -> Answer | None:
    """A prompt with padding in front, then token by token, against all at once."""
    valid = context.setting.padding(context.base.valid.shape[1], left=True)
    case = context.setting.case(valid)
    whole = context.subject.run(case)
    sizes = [valid.shape[1] // 2, *[1] * (valid.shape[1] - valid.shape[1] // 2)]
    try:
        out = _stepped(context, case, sizes)
    except Exception as fault:
        text = f"With padding before the prompt, step raised {type(fault).__name__}: {fault}."
        return Answer(Verdict.FAIL, text)
    apart = gap(out, whole, valid)
    if apart.amount <= context.tolerance(whole):
        return None
    text = (
        f"With padding before the prompt, token {apart.query} of sample {apart.sample} differs "
        f"by {apart.amount:.2g} between steps with a cache and the whole sequence at once."
    )
    if context.scope.may_leave_out:
        return _open(text)
    found = Answer(Verdict.FAIL, text, sample=apart.sample, query=apart.query, amount=apart.amount)
    return found.because(diagnose("cache_padding", sure=False))


def _open(text: str) -> Answer:
    """A difference that is no fault where a cache may leave out other links, as by eviction."""
    return untested(f"{text} With a cache it may leave out other links (may_leave_out=True).")


def _pieces(n_tokens: int) -> list[int]:
    first = n_tokens // 2 + 1
    rest = n_tokens - first
    return [first, *[2] * (rest // 2), *[1] * (rest % 2)]


def _stepped(context: AuditContext, case: Case, sizes: list[int]) -> Tensor:
    step, cache, rows, start = context.scope.step, None, [], 0
    assert step is not None
    with torch.no_grad():
        for size in sizes:
            seen, x = case.valid[:, : start + size], case.x[:, : start + size]
            more = [context.setting.passed(seen, x)] if takes_mask(step) else []
            out, cache = step(x[:, start:].clone(), cache, *more)
            rows.append(context.subject.read(out, seen[:, start:]))
            start += size
    return torch.cat(rows, dim=1)


QUESTION = Question("cache", "With a KV cache", ask, ("runs",), order=210, one_sided=True)
