"""Whether the pooled vector is made of the tokens that it is meant to be made of."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from viz_encoder.audit.answer import Answer, passes, untested
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.setting import GRADIENT, Case
from viz_encoder.audit.question import Question
from viz_encoder.audit.report import Verdict
from viz_encoder.errors import InputError


def ask(context: AuditContext) -> Answer:
    """Check the gradient of the pooled vector with respect to the pooled rows."""
    if context.scope.pool_over is None:
        return untested("Which tokens are pooled: no AuditScope(pool_over=…) was given.")
    case = context.base
    wanted = _wanted(context, case)
    amounts = _amounts_of(context, case)
    if amounts is None:
        return untested("Which tokens are pooled: no rows (batch, token, d) lead to the output.")
    over = amounts.masked_fill(wanted, 0.0)
    if float(over.max()) > GRADIENT:
        sample, query = divmod(int(over.argmax()), over.shape[1])
        kind = "token" if bool(case.valid[sample, query]) else "padding"
        text = (
            f"The pooled vector of sample {sample} also depends on {kind} {query}, which "
            f"should be left out: its gradient is {float(over.max()):.2g} of the largest."
        )
        answer = Answer(Verdict.FAIL, text, sample=sample, query=query, amount=float(over.max()))
        return answer.because(diagnose("pooled_special"))
    empty = wanted.any(dim=1) & ~(amounts > GRADIENT).any(dim=1)
    # Inside a model these may be scores, and the softmax of a single score has no gradient.
    if bool(empty.any()) and not context.is_pooled:
        sample = int(empty.nonzero()[0])
        return Answer(
            Verdict.FAIL,
            f"The pooled vector of sample {sample} depends on no token.",
            sample=sample,
        )
    return passes(
        f"Pooled vectors depend on the {int(wanted.sum())} intended tokens, and on no other."
    )


def _wanted(context: AuditContext, case: Case) -> Bool[Tensor, "batch token"]:
    assert context.scope.pool_over is not None
    given = context.scope.pool_over(case.valid)
    fits = isinstance(given, Tensor) and given.dtype == torch.bool
    if not fits or given.shape != case.valid.shape:
        what = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
        raise InputError(
            f"AuditScope(pool_over=…) gave {what}; it must give a torch.bool tensor (batch, token) "
            f"= {tuple(case.valid.shape)}, True = is pooled."
        )
    return given


def _amounts_of(context: AuditContext, case: Case) -> Float[Tensor, "batch token"] | None:
    """The gradient of each sample's vector by the rows that are pooled; None if none are known."""
    with torch.enable_grad():
        if context.is_pooled:
            seen, pooled = _rows_seen(context, case)
        else:
            assert context.scope.pooled is not None  # else it was refused
            seen = [context.subject.run(case).detach().requires_grad_(True)]
            pooled = context.scope.pooled(seen[0], case.valid)
        for rows in reversed(seen):  # those that nothing is made of are none
            amounts = [_amounts(rows, pooled, sample) for sample in range(len(case.valid))]
            found = [one for one in amounts if one is not None]
            if len(found) == len(amounts):
                return torch.stack(found)
    return None


def _rows_seen(context: AuditContext, case: Case) -> tuple[list[Tensor], Tensor]:
    """For a model that pools: its modules' outputs with one row per token, and its output."""
    seen: list[Tensor] = []

    def note(module: nn.Module, args: object, out: object) -> Tensor | None:
        if not isinstance(out, Tensor) or out.ndim != 3 or out.shape[:2] != case.valid.shape:
            return None
        if not out.is_floating_point():
            return None
        seen.append(out if out.requires_grad else out.detach().requires_grad_(True))
        return seen[-1]

    hooks = [part.register_forward_hook(note) for part in context.subject.whole.modules()]
    try:
        return seen, context.subject.run(case, grad=True)
    finally:
        for hook in hooks:
            hook.remove()


def _amounts(rows: Tensor, pooled: Tensor, sample: int) -> Float[Tensor, " token"] | None:
    """Each row's gradient of one sample's vector, relative to the largest; None if unconnected."""
    values = pooled[sample].flatten()
    mixture = torch.linspace(1.0, 2.0, len(values), device=values.device, dtype=values.dtype)
    if not values.requires_grad:
        return None
    (found,) = torch.autograd.grad(
        (values * mixture).sum(), rows, retain_graph=True, allow_unused=True
    )
    if found is None:
        return None
    sizes = found[sample].detach().abs().amax(dim=-1).double()
    return sizes / sizes.max().clamp_min(1e-300)


QUESTION = Question(
    "pooled_tokens", "Which tokens are pooled", ask, ("runs", "output_pooling"), order=112
)
