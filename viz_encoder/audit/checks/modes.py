"""Whether it is in eval mode, and whether its paths with gradients and without agree."""

from contextlib import suppress

import torch

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.changes import gap
from viz_encoder.audit.measure.setting import ModelFault
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Diagnosis, Verdict, fails, passes, untested
from viz_encoder.errors import InputError


@question("Eval mode", Evidence.CALL, after="runs", runs_nothing=True, one_sided=True)
def eval_mode(context: AuditContext) -> Check:
    """Report that the audit used eval mode and restored the model."""
    if context.was_training:
        text = "It was in training mode: audited in eval mode, and put back."
        return Check(Verdict.INFO, text, cure="model.eval()")
    return passes("The model was in eval mode, so dropout was off; or nothing in it has modes.")


UNMASKED = "not known: they differ with nothing to mask, too, so it is not the mask."
TO_COMPARE = "To narrow it down, run each part of the model with gradients and without."


@question(
    "With and without gradients",
    Evidence.SWITCHES,
    after="runs maps cross_attention",
    needs_numbers=True,
)
def grad_mode(context: AuditContext) -> Check:
    """Real rows must agree; rows of padding often do not, and that is said."""
    case = context.base
    if isinstance(grad := context.grad_out, str):
        return untested(f"With gradients: the model raised {grad}.")
    with torch.inference_mode():
        inference = context.subject.run(case)
    limit = context.tolerance(context.out)
    for name, other in (("with gradients", grad), ("in inference mode", inference)):
        apart = gap(other, context.out, case.valid)
        if apart.amount > limit:
            text = (
                f"Token {apart.query} of sample {apart.sample} differs by {apart.amount:.2g} "
                f"{name} and without gradients."
            )
            return fails(text).at(apart).because(_cause(context))
    text = "With gradients, without them and in inference mode, real rows agree."
    if context.out.ndim > 2 and case.padded:
        pads = gap(grad, context.out, ~case.valid)
        if pads.amount > limit:
            return passes(f"{text} Rows of padding differ: leave them out of loss and pooling.")
    return passes(text)


def _cause(context: AuditContext) -> Diagnosis:
    """The mask, if the paths agree where it has no padding to close and all attention is right.

    Paths may leave different numbers in rows of padding: what reads those then differs, too.
    """
    case, maps = context.base, context.maps
    with suppress(ModelFault, InputError):
        whole = context.setting.case(torch.ones_like(case.valid))
        with_, without = (context.subject.run(whole, grad=grad) for grad in (True, False))
        if gap(with_, without).amount > context.tolerance(context.out):
            plain = bool(context.pattern(case).all())
            return Diagnosis("", UNMASKED, TO_COMPARE) if plain else diagnose("path", sure=False)
        read = maps.cross or maps.left_out or any(one.verdict.is_red for one in _earlier(context))
        return diagnose("path", sure=not read)
    return diagnose("path", sure=False)


def _earlier(context: AuditContext) -> list[Check]:
    return [answer for name, answer in context.answers.items() if name not in ("static", "maps")]
