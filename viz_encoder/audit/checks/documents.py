"""Whether packed documents know of one another."""

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import Answer, AuditContext, Question, passes, untested
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.gradients import Gradients
from viz_encoder.audit.measure.reach import must_know
from viz_encoder.audit.measure.setting import GRADIENT, Case
from viz_encoder.audit.report import Verdict


def ask(context: AuditContext) -> Answer:
    """On a full batch: no gradient leads from one document into another."""
    if context.scope.documents is False:
        return untested("Packed documents: none were named, AuditScope(documents=…).")
    case, numbers = context.full, numbered(context, context.full)
    if int(numbers.max()) < 1:
        return untested("Packed documents: your intent has only one.")
    apart = numbers[:, :, None] != numbers[:, None, :]
    both = torch.stack([one & apart for one in case.allowed]).any(dim=0)
    if bool(both.any()):
        sample, query, key = (int(n) for n in both.nonzero()[0])
        text = f"Your intent itself lets token {query} attend to token {key}, of another document."
        return Answer(Verdict.FAIL, text, sample=sample, query=query, key=key).because(
            diagnose("documents")
        )
    found = context.gradients_on(case)
    if isinstance(found, str):
        return untested(f"Packed documents: no gradients ({found}).")
    return _leak(found, numbers, apart) or passes(
        f"{int(numbers.max()) + 1} documents in a row know nothing of one another."
    )


def numbered(context: AuditContext, case: Case) -> Tensor:
    """The document of each token, "batch token": as given, or as the intent links tokens."""
    if callable(context.scope.documents):
        return context.scope.documents(case.valid)
    linked = must_know(case.allowed, context.n_layers)
    whole = linked | linked.mT
    for _ in range(case.valid.shape[1].bit_length()):
        whole = (whole.float() @ whole.float()) > 0
    first = whole.float().argmax(dim=-1)
    return torch.stack([row.unique(return_inverse=True)[1] for row in first])


def _leak(found: Gradients, numbers: Tensor, apart: Tensor) -> Answer | None:
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
        f"token {key}, by {amount:.2g} of its row's largest gradient."
    )
    return Answer(Verdict.FAIL, text, sample=sample, query=query, key=key, amount=amount).because(
        diagnose("documents")
    )


QUESTION = Question(
    "documents",
    "Packed documents",
    ask,
    ("runs", "constants", "batch_independence", "maps", "gradient"),
    order=190,
)
