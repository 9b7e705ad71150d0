"""Whether token by token with a cache gives what the whole sequence gives at once."""

from typing import Any

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import Answer, AuditContext, Question, gap, passes, untested
from viz_encoder.audit.measure.subject import first_tensor
from viz_encoder.audit.report import Verdict


def ask(context: AuditContext) -> Answer:
    """One token at a time, judged; a first part at once and the rest in pieces of two, told."""
    step = context.scope.step
    if step is None:
        return untested("A KV cache: no AuditScope(step=…) was given.")
    case = context.full
    whole = context.subject.run(case)
    n_tokens = case.valid.shape[1]
    ways = {"token by token": [1] * n_tokens, "in pieces": _pieces(n_tokens)}
    for name, sizes in ways.items():
        try:
            out = _stepped(step, case.x, sizes)
        except Exception as fault:
            text = f"Run {name}, step raised {type(fault).__name__}: {fault}."
            if name == "in pieces":
                return passes(f"Token by token it agrees. {text}")
            return Answer(Verdict.FAIL, text)
        apart = gap(out, whole)
        if apart.amount > context.tolerance(whole):
            text = (
                f"Run {name} with a cache, token {apart.query} of sample {apart.sample} differs "
                f"by {apart.amount:.2g} from the whole at once."
            )
            cause = (
                "consistent with: a causal mask aligned to the wrong corner (with 2 queries and 5 "
                "keys, query 0 is token 3), or positions that start at 0 in each piece."
            )
            cure = "allowed = torch.ones(n_queries, n_keys).tril(n_keys - n_queries).bool()"
            verdict = Verdict.FAIL if name == "token by token" else Verdict.INFO
            return Answer(
                verdict,
                text,
                cause,
                cure,
                "corner",
                sample=apart.sample,
                query=apart.query,
                amount=apart.amount,
            )
    return passes("Token by token and in pieces, it gives the same as all at once.")


def _pieces(n_tokens: int) -> list[int]:
    first = n_tokens // 2 + 1
    rest = n_tokens - first
    return [first, *[2] * (rest // 2), *[1] * (rest % 2)]


def _stepped(step: Any, x: Tensor, sizes: list[int]) -> Tensor:
    cache, rows, start = None, [], 0
    with torch.no_grad():
        for size in sizes:
            out, cache = step(x[:, start : start + size].clone(), cache)
            rows.append(first_tensor(out))
            start += size
    return torch.cat(rows, dim=1)


QUESTION = Question("cache", "With a KV cache", ask, ("runs",), order=210)
