"""Whether cross-attention looks where it may: keys are a memory's tokens, of any number."""

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.audit_context import Answer, AuditContext, Question, passes, untested
from viz_encoder.audit.diagnose.diagnosis import Diagnosis, diagnose
from viz_encoder.audit.measure.maps import Layer
from viz_encoder.audit.measure.setting import MASS
from viz_encoder.audit.report import Verdict


def ask(context: AuditContext) -> Answer:
    """Each layer, head and sample of it against AuditScope(cross=…)."""
    layers = context.maps.cross
    names = ", ".join(layer.name for layer in layers)
    allowed = context.crossed(context.base.valid)
    if not layers:
        why = "none was seen" if context.maps.layers else "no maps could be seen"
        return untested(f"Cross-attention: {why}.")
    if allowed is None:
        return untested(
            f"Cross-attention ({names}) was seen but not judged: say what it may look at with "
            "AuditScope(cross=…)."
        )
    for number, layer in enumerate(layers):
        if layer.weights.shape[2:] != allowed.shape[1:]:
            return untested(
                f"Cross-attention: {layer.name} has {layer.weights.shape[2]} queries and "
                f"{layer.weights.shape[3]} keys; AuditScope(cross=…) gave {tuple(allowed.shape)}."
            )
        found = _fault(context, number, layer, allowed)
        if found is not None:
            return found
    return passes(f"Cross-attention ({names}) looks where it may, and nowhere else.")


def _fault(context: AuditContext, number: int, layer: Layer, allowed: Tensor) -> Answer | None:
    rows = _rows(context, allowed)
    forbidden = (~allowed & rows[:, :, None])[:, None]
    weights = layer.weights.nan_to_num(0.0).double()
    leaks = weights.masked_fill(~forbidden, 0.0)
    cell = tuple(int(n) for n in torch.unravel_index(leaks.argmax(), leaks.shape))
    amount = float(leaks[cell])
    closed = (allowed & rows[:, :, None])[:, None] & ~layer.opened
    if amount > MASS:
        sample, head, query, key = cell
        text = f"gives {amount:.3g} of its attention to memory {key}, which it may not attend to"
    elif bool(closed.any()) and layer.sure:
        sample, head, query, key = (int(n) for n in closed.nonzero()[0])
        text = f"never looks at memory {key}, which it may attend to"
    else:
        return None
    text = f"Cross-attention {layer.name}, head {head}, sample {sample}: query {query} {text}."
    opened = layer.opened if layer.sure else layer.weights.nan_to_num(1.0) > MASS
    return Answer(
        Verdict.FAIL, text, head=head, sample=sample, query=query, key=key, amount=amount
    ).because(_cause(opened, allowed, rows))


def _rows(context: AuditContext, allowed: Tensor) -> Bool[Tensor, "batch query"]:
    """Queries that may attend to anything; if they are this model's tokens, only real ones."""
    open_, valid = allowed.any(dim=-1), context.base.valid
    return open_ & valid if open_.shape == valid.shape else open_


def _cause(opened: Tensor, allowed: Tensor, rows: Tensor) -> Diagnosis:
    causal = torch.ones_like(allowed).tril()
    candidates = (
        ("cross_causal", allowed & causal),
        ("cross_causal", causal),
        ("inverted", ~allowed),
        ("ignored", torch.ones_like(allowed)),
        ("first_sample", allowed[:1].expand_as(allowed)),
    )
    judged = rows[:, None].expand(opened.shape[:3])
    fits = [
        code
        for code, one in candidates
        if torch.equal(opened[judged], one[:, None].expand_as(opened)[judged])
    ]
    return diagnose(fits[0]) if fits else Diagnosis()


QUESTION = Question(
    "cross_attention",
    "Cross-attention",
    ask,
    ("runs", "static", "constants", "batch_independence"),
    order=65,
)
