"""Whether an output depends on a token that no path of the mask leads to; exact, at any scale."""

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import Answer, AuditContext, Question, passes, untested
from viz_encoder.audit.diagnose.diagnosis import Diagnosis, diagnose, diagnose_gradient
from viz_encoder.audit.measure.gradients import Gradients
from viz_encoder.audit.measure.setting import GRADIENT, Case
from viz_encoder.audit.pictures import picture_of_gradient
from viz_encoder.audit.report import Verdict

FLATTER = 0.05


def ask(context: AuditContext) -> Answer:
    """∂ output / ∂ input of each pair, against whom the layers together let a token know of."""
    found = context.gradients
    if isinstance(found, str):
        return untested(f"No gradients: {found}.")
    return (
        find_fault(context, context.base, found)
        or _lost(context, found)
        or passes(
            f"Of {found.values[0].numel() * len(found.rows)} pairs, no forbidden one has a "
            f"gradient above {GRADIENT:g} of its row's largest."
        )
    )


def find_fault(context: AuditContext, case: Case, found: Gradients) -> Answer | None:
    """The worst leak of one case; None where there is none."""
    bad = found.values.isnan() & case.valid  # a padded input may be divided by 0
    if bool(bad.any()):
        row = int(bad.flatten(1).any(dim=1).nonzero()[0])
        sample, query = found.rows[row]
        text = (
            f"The gradient of token {query} of sample {sample} is NaN, though its output is not: "
            "one row with nothing to attend to spoils the training of the whole batch."
        )
        if context.is_nonfinite:
            text = f"The gradient of token {query} of sample {sample} is NaN, as outputs are."
        return Answer(Verdict.FAIL, text, sample=sample, query=query).because(
            diagnose("empty_row", sure=False)
        )
    relative = found.relative().nan_to_num(0.0)
    leaks = relative.masked_fill(_known(context, case, found), 0.0)
    worst = tuple(int(n) for n in torch.unravel_index(leaks.argmax(), leaks.shape))
    row, other, key = worst
    amount = float(leaks[worst])
    if amount <= GRADIENT:
        return None
    sample, query = found.rows[row]
    if other != sample:
        text = (
            f"Sample {sample}, token {query} depends on sample {other}, token {key}: its gradient "
            f"is {amount:.2g} of the row's largest."
        )
        return Answer(
            Verdict.FAIL, text, sample=sample, query=query, key=key, amount=amount
        ).because(diagnose("axes", sure=False))
    return _leak(context, case, found, leaks, (sample, query, key, amount))


def _leak(
    context: AuditContext,
    case: Case,
    found: Gradients,
    leaks: Tensor,
    cell: tuple[int, int, int, float],
) -> Answer:
    sample, query, key, amount = cell
    what = "token" if bool(case.valid[sample, key]) else "padding"
    who = f"output of sample {sample}" if context.is_pooled else f"sample {sample}, token {query}"
    text = (
        f"The {who} depends on {what} {key}, which no path of the mask leads to: its gradient is "
        f"{amount:.2g} of the row's largest; {int((leaks > GRADIENT).sum())} pairs leak."
    )
    answer = Answer(Verdict.FAIL, text, sample=sample, query=query, key=key, amount=amount)
    if context.is_pooled:
        right = context.maps.layers and not context.failed("maps")
        return answer.because(
            diagnose("pooling") if right else diagnose("padding_ignored", sure=False)
        )
    square = _square(found, case)
    if context.maps.layers and context.answers.get("maps", answer).verdict in ("PASS", "INFO"):
        cause = (
            "the maps are right, so something besides attention lets tokens mix: a convolution, a "
            "mean or norm over tokens, or a mask that is applied after the softmax."
        )
        diagnosis = Diagnosis(
            "besides_attention", cause, "Mask padding there too, or keep it a token's own."
        )
    else:
        diagnosis = diagnose_gradient(
            square > GRADIENT, case.allowed, context.pattern(case), case.valid, context.n_layers
        )
    shot = picture_of_gradient(case, square[sample], context.may(case)[sample], sample)
    return answer._replace(pictures=(shot,)).because(diagnosis)


def _known(context: AuditContext, case: Case, found: Gradients) -> Tensor:
    """For each row, "batch key" of whom it may know: nobody of another sample."""
    may, known = context.may(case), torch.zeros_like(found.values, dtype=torch.bool)
    for number, (sample, query) in enumerate(found.rows):
        known[number, sample] = may[sample, query]
    return known


def _square(found: Gradients, case: Case) -> Tensor:
    """The relative gradients within each sample, as "batch query key"."""
    relative = found.relative()
    square = relative.new_zeros(*case.valid.shape, case.valid.shape[1])
    for number, (sample, query) in enumerate(found.rows):
        square[sample, query] = relative[number, sample]
    return square


def _lost(context: AuditContext, found: Gradients) -> Answer | None:
    """Pairs that are meant to be linked and are not, where no maps could tell."""
    if context.maps.layers or context.is_pooled:
        return None
    links = _unlinked(context, found)
    if not len(links):
        return None
    with context.subject.weights(lambda weight: weight * FLATTER):
        flat = context.gradients_on(context.base)
    if isinstance(flat, str) or not len(_unlinked(context, flat)):
        return None
    row, key = (int(n) for n in links[0])
    sample, query = found.rows[row]
    text = (
        f"Sample {sample}: token {query} does not depend on token {key}, which it may attend to; "
        f"{len(links)} links are missing."
    )
    square = _square(found, context.base)
    diagnosis = diagnose_gradient(
        square > 0,
        context.base.allowed,
        context.pattern(context.base),
        context.base.valid,
        context.n_layers,
    )
    shot = picture_of_gradient(
        context.base, square[sample], context.must(context.base)[sample], sample
    )
    return Answer(
        Verdict.FAIL, text, sample=sample, query=query, key=key, amount=0.0, pictures=(shot,)
    ).because(diagnosis)


def _unlinked(context: AuditContext, found: Gradients) -> Tensor:
    must = context.must(context.base)
    wanted = torch.stack([must[s, q] & context.base.valid[s] for s, q in found.rows])
    values = torch.stack([found.values[n, s] for n, (s, _) in enumerate(found.rows)])
    return (wanted & (values == 0)).nonzero()


QUESTION = Question(
    "gradient",
    "Whom each output depends on",
    ask,
    ("runs", "static", "constants", "batch_independence", "maps", "row_sums"),
    order=80,
)
