"""Whether a sample is the same alone as with padding in a batch."""

import torch
from torch import Tensor

from viz_encoder.audit.answer import Answer, passes, raised, untested
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.tried import is_right_on
from viz_encoder.audit.measure.difference import Gap, gap
from viz_encoder.audit.measure.reach import must_know
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.measure.token_axis import can_be_cut
from viz_encoder.audit.question import Question
from viz_encoder.audit.report import Verdict


def ask(context: AuditContext) -> Answer:
    """Every sample of the base case."""
    case = context.base
    if not context.setting.pads:
        return untested("Alone and with padding: your valid has no padding.")
    if not can_be_cut(case.x, case.valid.shape[1]):
        return untested(
            f"Alone and with padding: no padding can be cut off an input {tuple(case.x.shape)}."
        )
    return (
        find_fault(context, context.base, context.out)
        or _by_intent(context)
        or passes(
            f"Real rows alone and with padding agree to {context.tolerance(context.out):.1g}."
        )
    )


def _by_intent(context: AuditContext) -> Answer | None:
    """Pass if the intent lets outputs depend on padding."""
    case = context.base
    open_ = torch.stack(case.allowed).any(dim=0) & case.valid[:, :, None] & ~case.valid[:, None, :]
    if not bool(open_.any()):
        return None
    sample, query, key = (int(n) for n in open_.nonzero()[0])
    text = (
        f"Your intent lets token {query} of sample {sample} attend to token {key}, which is "
        "padding; outputs that depend on it were not compared alone and with padding."
    )
    cure = "Add & valid[:, None, :] to the intent, unless padding is meant to be seen."
    return Answer(Verdict.WARN, text, cure=cure, sample=sample, query=query, key=key)


def find_fault(context: AuditContext, case: Case, out: Tensor) -> Answer | None:
    """The largest difference of a sample alone; None where they agree.

    Rows that are meant to know of padding are not compared.
    """
    if not case.padded or not can_be_cut(case.x, case.valid.shape[1]):
        return None
    worst, cut = Gap(0.0, 0, 0), 0
    refused: list[ModelFault] = []
    reached = must_know(case.allowed, context.n_layers or case.valid.shape[1])
    apart_from = ~(reached & ~case.valid[:, None, :]).any(dim=2)
    for sample in range(len(case.valid)):
        alone = context.setting.alone(case, sample)
        if alone is None or bool(case.valid[sample].all()):
            continue
        cut += 1
        try:
            other = context.subject.run(alone)
        except ModelFault as fault:
            refused.append(fault)
            continue
        padded = (
            out[sample : sample + 1] if out.ndim == 2 else out[sample, case.valid[sample]][None]
        )
        rows = apart_from[sample, case.valid[sample]][None]
        apart = gap(padded, other, rows.all(dim=1, keepdim=True) if out.ndim == 2 else rows)
        worst = max(worst, apart._replace(sample=sample))
    closed = refused and len(refused) == cut
    found = _in_a_batch_of_one(context, case, out) if closed or not refused else None
    if refused and found is None and worst.amount <= context.tolerance(out):
        answer = raised(refused[0], title="Alone and with padding")
        if closed and answer.verdict is Verdict.FAIL:
            return untested(
                f"Alone and with padding: without its padding, the model raised {refused[0]}."
            )
        return answer
    if worst.amount <= context.tolerance(out):
        return found
    who = "Its output" if out.ndim == 2 else f"Its token {worst.query}"
    text = (
        f"Sample {worst.sample} is not the same alone and with padding: {who.lower()} differs by "
        f"{worst.amount:.2g}."
    )
    found = Answer(Verdict.FAIL, text, sample=worst.sample, query=worst.query, amount=worst.amount)
    if context.passed("gradient") and out.ndim == 2:
        by_side = _holds_on_the_right(context, case)
        return found.because(diagnose("positions" if by_side else "pooling", sure=False))
    if context.passed("gradient"):
        cause = (
            "consistent with: positions counted from the padding, pooling over padding, or a part "
            "besides attention that counts padded tokens."
        )
        return found._replace(cause=cause)
    return found


def _in_a_batch_of_one(context: AuditContext, case: Case, out: Tensor) -> Answer | None:
    """The shortest padded sample alone, with its padding: a mask may be left out there."""
    counts = case.valid.sum(dim=1)
    sample = int(counts.masked_fill(counts == 0, case.valid.shape[1]).argmin())
    if not 0 < int(counts[sample]) < case.valid.shape[1] or len(counts) == 1:
        return None
    single = context.setting.whole(case, sample)
    try:
        apart = gap(context.subject.run(single), out[sample : sample + 1], single.valid)
    except ModelFault as fault:
        return raised(fault, "With a padded batch of one")
    if apart.amount <= context.tolerance(out):
        return None
    text = (
        f"Sample {sample} with its padding is not the same in a batch of one: token {apart.query} "
        f"differs by {apart.amount:.2g}."
    )
    found = Answer(Verdict.FAIL, text, sample=sample, query=apart.query, amount=apart.amount)
    sure = is_right_on(context, single) is False and is_right_on(context, case) is True
    return found.because(diagnose("one_sample", sure=sure))


def _holds_on_the_right(context: AuditContext, case: Case) -> bool:
    """Whether padding stands before the tokens, and the model is right where it stands after."""
    if bool(case.valid[:, 0].all()) or not bool(case.valid[:, -1].all()):
        return False
    other = context.setting.case(context.setting.padding(case.valid.shape[1], left=False))
    try:
        return find_fault(context, other, context.subject.run(other)) is None
    except ModelFault:
        return False


QUESTION = Question(
    "padding_invariance",
    "Alone and with padding",
    ask,
    (
        "runs",
        "static",
        "constants",
        "batch_independence",
        "maps",
        "row_sums",
        "gradient",
        "perturbation",
    ),
    order=100,
)
