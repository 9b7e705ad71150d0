"""How padding gets into a pooled vector: by a mean or maximum, or by softmax weights."""

from contextlib import suppress

from viz_encoder.audit.answer import Diagnosis
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.pooling_softmax import pools_by_softmax
from viz_encoder.audit.measure.setting import ModelFault


def by_pooling(context: AuditContext, *, sure: bool) -> Diagnosis:
    """The cause, with the cure for the kind of pooling that ran."""
    with suppress(ModelFault):
        case, subject = context.base, context.subject
        crossed = any(layer.shape[3] == case.valid.shape[1] for layer in context.maps.cross)
        if crossed or pools_by_softmax(lambda: subject.run(case), case.valid):
            return diagnose("pooling_weights", sure=sure)
    return diagnose("pooling", sure=sure)
