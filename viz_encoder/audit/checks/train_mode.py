"""Whether masks hold in training mode as well, with every dropout at 0."""

from torch import nn

from viz_encoder.audit.audit_context import Answer, Bench, Question, gap, passes, untested
from viz_encoder.audit.checks import gradient, maps
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.subject import without_dropout
from viz_encoder.audit.report import Verdict


def ask(bench: Bench) -> Answer:
    """The same output as in eval mode; where it differs, whether it leaks."""
    whole = bench.subject.whole
    if not [one for one in whole.modules() if one is not whole and one is not whole.parts]:
        return untested("Training mode: no module was found (module=).")
    if any(isinstance(one, nn.modules.batchnorm._BatchNorm) for one in whole.modules()):
        return untested("Training mode: batch norm mixes samples there.")
    with bench.subject.in_mode(training=True), without_dropout(whole):
        out = bench.subject.run(bench.base, grad=True).detach()
        again = bench.subject.run(bench.base, grad=True).detach()
        if gap(out, again, bench.base.valid).amount > 0:
            return untested("Training mode: it is random even with every dropout at 0.")
        apart = gap(out, bench.out, bench.base.valid)
        if apart.amount <= bench.tolerance(out):
            return passes("With every dropout at 0 training mode gives the same real rows.")
        leak = maps.look(bench, bench.base, maps_of(bench.subject, bench.base, grad=True))
        if leak is None and not isinstance(found := bench.gradients_on(bench.base), str):
            leak = gradient.look(bench, bench.base, found)
    if leak is not None:
        told = leak.evidence[:1].lower() + leak.evidence[1:]
        return leak._replace(evidence=f"In training mode, with every dropout at 0: {told}")
    text = (
        f"In training mode, with every dropout at 0, token {apart.query} of sample {apart.sample} "
        f"differs by {apart.amount:.2g}; no forbidden token has a part in it."
    )
    return Answer(Verdict.WARN, text, sample=apart.sample, query=apart.query, amount=apart.amount)


QUESTION = Question("train_mode", "Training mode", ask, ("runs", "grad_mode"))
