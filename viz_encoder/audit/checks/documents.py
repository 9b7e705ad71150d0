"""Whether packed documents know of one another."""

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.changes import gap
from viz_encoder.audit.measure.gradients import Gradients
from viz_encoder.audit.measure.setting import GRADIENT, ModelFault
from viz_encoder.audit.measure.token_axis import can_be_cut
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Verdict, fails, passes, untested


@question(
    "Packed documents",
    Evidence.WAYS,
    after="runs SPOILED maps gradient",
    one_sided=True,
)
def documents(context: AuditContext) -> Check:
    """On a full batch: no gradient leads from one document into another."""
    if context.scope.documents is False:
        return untested("Packed documents: none were given (AuditScope(documents=…)).")
    case, numbers = context.full, context.documents(context.full)
    if int(numbers.max()) < 1:
        return untested("Packed documents: your intent has only one.")
    apart = numbers[:, :, None] != numbers[:, None, :]
    both = torch.stack([one & apart for one in case.allowed]).any(dim=0)
    if bool(both.any()):
        sample, query, key = (int(n) for n in both.nonzero()[0])
        text = f"Your intent itself lets token {query} attend to token {key}, of another document."
        return fails(text, sample=sample, query=query, key=key).because(diagnose("documents"))
    found = context.gradients_on(case)
    if isinstance(found, str):
        return untested(f"Packed documents: no gradients ({found}).")
    return (
        _leak(found, numbers, apart)
        or _alone(context, numbers)
        or passes(f"{int(numbers.max()) + 1} packed documents do not depend on one another.")
    )


def _alone(context: AuditContext, numbers: Tensor) -> Check | None:
    """A document packed behind others against the same one alone; told, for it may be meant."""
    case = context.full
    if context.scope.may_leave_out:  # alone it may leave out other links
        return None
    if context.is_pooled or not can_be_cut(case.x, case.valid.shape[1]):
        return None
    whole = context.subject.run(case)
    for number in range(1, int(numbers[0].max()) + 1):
        places = (numbers[0] == number).nonzero()[:, 0]
        single = context.setting.case(
            torch.ones(1, len(places), dtype=torch.bool), x=case.x[:1, places]
        )
        if int(context.documents(single).max()) > 0:
            continue
        try:
            apart = gap(context.subject.run(single), whole[:1, places])
        except ModelFault:
            continue
        if apart.amount > context.tolerance(whole):
            query = int(places[apart.query])
            text = (
                f"Document {number} gives different outputs packed and alone: token {query} "
                f"differs by {apart.amount:.2g}, though it depends on no other document."
            )
            found = Check(Verdict.WARN, text, sample=0, query=query, amount=apart.amount)
            return found.because(diagnose("positions_packed", sure=False))
    return None


def _leak(found: Gradients, numbers: Tensor, apart: Tensor) -> Check | None:
    relative = found.relative().nan_to_num(1.0)
    worst = (0.0, 0, 0, 0)
    for number, (sample, query) in enumerate(found.rows):
        row = relative[number, sample].masked_fill(~apart[sample, query], 0.0)
        worst = max(worst, (float(row.max()), sample, query, int(row.argmax())))
    amount, sample, query, key = worst
    if amount <= GRADIENT:
        return None
    reader, read = int(numbers[sample, query]), int(numbers[sample, key])
    text = (
        f"Document {reader} reads document {read}: token {query} of sample {sample} depends on "
        f"token {key}, by a gradient {amount:.2g} times that of the token it depends on most."
    )
    return fails(text, sample=sample, query=query, key=key, amount=amount).because(
        diagnose("documents")
    )
