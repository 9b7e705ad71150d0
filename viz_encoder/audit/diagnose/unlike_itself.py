"""Why runs on the same input differ in eval mode: by what an earlier call left, or by chance."""

from torch import Tensor

from viz_encoder.audit.answer import Diagnosis
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.difference import gap
from viz_encoder.audit.measure.random_states import random_states_kept


def unlike_itself(context: AuditContext) -> Diagnosis:
    """By further runs: equal after the first call, or only if the same random numbers are drawn."""
    subject, case, limit = context.subject, context.base, context.tolerance(context.out)

    def seeded() -> Tensor:
        with random_states_kept([subject.device]):
            return subject.run(case)

    if gap(context.again, subject.run(case), case.valid).amount <= limit:
        found = diagnose("kept", more="; or the first call uses something up, such as a generator")
        again = "list(filter(…)) for filter(…), which can be gone through once, as zip and map can."
        return found._replace(cure=f"{found.cure} {again}")
    by_chance = gap(seeded(), seeded(), case.valid).amount <= limit
    return diagnose("random" if by_chance else "kept", sure=False)
