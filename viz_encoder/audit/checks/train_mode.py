"""Whether masks hold in training mode as well, with every dropout at 0."""

from torch import nn

from viz_encoder.audit.audit_context import Answer, AuditContext, Question, gap, passes, untested
from viz_encoder.audit.checks import gradient, maps
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.subject import without_dropout
from viz_encoder.audit.report import Verdict


def ask(context: AuditContext) -> Answer:
    """The same output as in eval mode; where it differs, whether it leaks."""
    whole = context.subject.whole
    if not [one for one in whole.modules() if one is not whole and one is not whole.parts]:
        return untested("Training mode: no module was found (module=).")
    if any(isinstance(one, nn.modules.batchnorm._BatchNorm) for one in whole.modules()):
        return untested("Training mode: batch norm mixes samples there.")
    with context.subject.in_mode(training=True), without_dropout(whole):
        out = context.subject.run(context.base, grad=True).detach()
        again = context.subject.run(context.base, grad=True).detach()
        if gap(out, again, context.base.valid).amount > 0:
            return untested("Training mode: it is random even with every dropout at 0.")
        apart = gap(out, context.out, context.base.valid)
        if apart.amount <= context.tolerance(out):
            return passes("With every dropout at 0, training mode gives the same real rows.")
        leak = maps.find_fault(
            context, context.base, maps_of(context.subject, context.base, grad=True)
        )
        if leak is None and not isinstance(found := context.gradients_on(context.base), str):
            leak = gradient.find_fault(context, context.base, found)
    if leak is not None:
        told = leak.evidence[:1].lower() + leak.evidence[1:]
        return leak._replace(evidence=f"In training mode, with every dropout at 0: {told}")
    text = (
        f"In training mode, with every dropout at 0, token {apart.query} of sample {apart.sample} "
        f"differs by {apart.amount:.2g}; no forbidden token is involved."
    )
    return Answer(Verdict.WARN, text, sample=apart.sample, query=apart.query, amount=apart.amount)


QUESTION = Question("train_mode", "Training mode", ask, ("runs", "grad_mode"), order=230)
