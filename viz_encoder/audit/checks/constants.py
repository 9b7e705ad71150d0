"""The numbers that ban: one not negative enough leaves weight, or outweighs a low score."""

from viz_encoder.audit.answer import Answer, passes, untested
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose_constant
from viz_encoder.audit.diagnose.passed_mask import suspicions
from viz_encoder.audit.measure.constants import too_small
from viz_encoder.audit.measure.setting import ModelFault
from viz_encoder.audit.question import Question
from viz_encoder.audit.report import Verdict
from viz_encoder.trace.diagnose import is_compiled


def ask(context: AuditContext) -> Answer:
    """Constants in what is passed, and in the code that fills scores."""
    case = context.base
    for one in suspicions(case.passed, case.valid):
        if one.code == "constant":
            found = diagnose_constant(one.value)
            return Answer(Verdict.WARN, f"T{one.evidence[1:]}.").because(found)
    if is_compiled(context.subject.whole.modules()):
        return untested("Masking constants: the model is compiled, and its code is not seen.")
    try:
        value = too_small(context.subject, case, grad=not context.grad_fault)
    except ModelFault as fault:
        return untested(f"Masking constants: while being recorded, the model raised {fault}.")
    if value is not None:
        text = f"The code masks with {value:g}."
        return Answer(Verdict.WARN, text, amount=value).because(diagnose_constant(value))
    return passes("No masking constant is above -100,000, as far as the code shows.")


QUESTION = Question("constants", "Masking constants", ask, ("runs",), order=50, one_sided=True)
