"""Whether NaN in padded inputs reaches real rows: 0 · NaN is NaN, so no weight stops it."""

import torch

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.measure.setting import ModelFault
from viz_encoder.audit.measure.token_axis import by_token, from_tokens
from viz_encoder.audit.question import question
from viz_encoder.audit.report import Check, Verdict, passes, untested


@question("NaN in padded inputs", after="runs", order=160, needs_numbers=True)
def poisoned_padding(context: AuditContext) -> Check:
    """Reported as INFO: nearly all kernels let it through."""
    case = context.base
    if not case.x.is_floating_point():
        return untested("NaN in padded inputs: this model takes ids.")
    if not case.padded:
        return untested("NaN in padded inputs: no token is padding.")
    if not context.has_tokens:
        return untested("NaN in padded inputs: this input has no axis of tokens.")
    tokens = by_token(case.x, case.valid.shape[1])
    x = from_tokens(tokens.masked_fill(~case.valid[..., None], torch.nan), case.x)
    try:
        out = context.subject.run(case, x=x)
    except ModelFault as fault:
        return Check(Verdict.INFO, f"NaN in padded inputs is refused: {fault}.")
    bad = ~out.isfinite().flatten(out.ndim - 1).all(dim=-1)
    real = bad & case.valid if bad.shape == case.valid.shape else bad
    if bool(real.any()):
        text = "NaN or inf in padded inputs reaches real rows: a weight of 0 does not stop it."
        return Check(Verdict.INFO, text, cure="x.masked_fill(~valid[..., None], 0.0)")
    return passes("NaN in padded inputs stays in the padding.")
