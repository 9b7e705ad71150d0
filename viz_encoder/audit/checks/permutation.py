"""Whether the order of the samples in a batch matters."""

import torch

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.mixing import diagnose_mixing
from viz_encoder.audit.measure.difference import gap
from viz_encoder.audit.question import SEEN_FIRST, question
from viz_encoder.audit.report import Check, Verdict, passes


@question("Order of the batch", after=SEEN_FIRST, order=120, compares=True)
def permutation(context: AuditContext) -> Check:
    """The batch in another order must give the same outputs in that order."""
    case = context.base
    order = torch.arange(len(case.valid), device=case.valid.device).roll(1)
    turned = context.setting.case(case.valid[order], x=case.x[order])
    out = context.subject.run(turned)
    apart = gap(out, context.out[order], turned.valid)
    if apart.amount <= context.tolerance(out):
        return passes("The samples in another order give the same outputs in that order.")
    text = (
        f"Sample {int(order[apart.sample])} changes by {apart.amount:.2g} when the batch is in "
        "another order."
    )
    return Check(Verdict.FAIL, text).at(apart).because(diagnose_mixing(context, turned, out))
