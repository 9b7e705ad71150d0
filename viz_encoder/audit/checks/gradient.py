"""Whether an output changes with a token that it may not know of; exact, at any scale."""

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.several_softmaxes import lost_in_softmaxes
from viz_encoder.audit.faults import gradients
from viz_encoder.audit.faults.changed_tokens import find_ignored
from viz_encoder.audit.faults.thrown_away import find_thrown_away
from viz_encoder.audit.measure.gradients import Gradients
from viz_encoder.audit.measure.setting import GRADIENT
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Diagnosis, Learned, Verdict, passes, untested


@question(
    "Whom each output depends on",
    Evidence.LINKS,
    after="CALL PASSED SPOILED WEIGHTS cross_attention",
    judges=True,
)
def gradient(context: AuditContext) -> Check:
    """∂ output / ∂ input of each pair, against whom the layers together let a token know of."""
    found = context.gradients
    if isinstance(found, str):
        ignored = find_ignored(context, context.base, context.out)
        return ignored or untested(f"No gradients: {found}.")
    fault = gradients.find_fault(context, context.base, found)
    if fault is not None and context.maps.layers and not context.failed("maps"):
        fault = _unless_deeper(context, found, fault)
    return (
        fault
        or gradients.find_lost(context, context.base, found)
        or lost_in_softmaxes(context, context.base)
        or find_thrown_away(context, context.base)
        or passes(
            f"Each output of {len(found.rows)} was differentiated by all tokens: no token that it "
            f"may not know of has more than {GRADIENT:g} times the largest gradient."
            f"{context.widened}"
        )
    )


def _unless_deeper(context: AuditContext, found: Gradients, fault: Check) -> Check:
    """The leak, unless unseen layers could explain it and n_layers was not given."""
    seen = len(context.maps.layers)
    if context.given_layers is not None or len(context.setting.intents) > 1:
        return fault
    if gradients.find_fault(context.but(is_deeper=True), context.base, found) is not None:
        return fault
    text = (
        f"Token {fault.query} of sample {fault.sample} depends on token {fault.key}, farther than "
        f"the {seen} attention layers that were seen can reach."
    )
    cause = "either more layers attend than were seen, or something besides attention mixes tokens."
    warning = fault.but(verdict=Verdict.WARN, evidence=text, learned=Learned(deeper=True))
    return warning.because(Diagnosis("layers", cause, "Pass n_layers=."))
