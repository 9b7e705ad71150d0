"""Whether an output depends on a token that no path of the mask leads to; exact, at any scale."""

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import Answer, Bench, Question, passes, untested
from viz_encoder.audit.diagnose.naming import Named, name_gradient, say
from viz_encoder.audit.measure.gradients import Gradients
from viz_encoder.audit.measure.setting import GRADIENT, Case
from viz_encoder.audit.pictures import picture_of_gradient
from viz_encoder.audit.report import Verdict

FLATTER = 0.05


def ask(bench: Bench) -> Answer:
    """∂ output / ∂ input of each pair, against whom the layers together let a token know of."""
    found = bench.gradients
    if isinstance(found, str):
        return untested(f"No gradients: {found}.")
    return (
        look(bench, bench.base, found)
        or _lost(bench, found)
        or passes(
            f"Of {found.values[0].numel() * len(found.rows)} pairs none that is forbidden has a "
            f"gradient above {GRADIENT:g} of its row's largest."
        )
    )


def look(bench: Bench, case: Case, found: Gradients) -> Answer | None:
    """The worst leak of one case; None where there is none."""
    bad = found.values.isnan() & case.valid  # a padded input may be divided by 0
    if bool(bad.any()):
        row = int(bad.flatten(1).any(dim=1).nonzero()[0])
        sample, query = found.rows[row]
        text = (
            f"The gradient of token {query} of sample {sample} is NaN, though its output is not: "
            "one row with nothing to look at spoils the training of the whole batch."
        )
        if bench.is_spoiled:
            text = f"The gradient of token {query} of sample {sample} is NaN, as outputs are."
        return Answer(Verdict.FAIL, text, sample=sample, query=query).because(
            say("empty_row", sure=False)
        )
    relative = found.relative().nan_to_num(0.0)
    leaks = relative.masked_fill(_known(bench, case, found), 0.0)
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
        ).because(say("axes", sure=False))
    return _leak(bench, case, found, leaks, (sample, query, key, amount))


def _leak(
    bench: Bench, case: Case, found: Gradients, leaks: Tensor, cell: tuple[int, int, int, float]
) -> Answer:
    sample, query, key, amount = cell
    what = "token" if bool(case.valid[sample, key]) else "padding"
    who = f"output of sample {sample}" if bench.is_pooled else f"sample {sample}, token {query}"
    text = (
        f"The {who} depends on {what} {key}, which no path of the mask leads to: its gradient is "
        f"{amount:.2g} of the row's largest; {int((leaks > GRADIENT).sum())} pairs leak."
    )
    answer = Answer(Verdict.FAIL, text, sample=sample, query=query, key=key, amount=amount)
    if bench.is_pooled:
        right = bench.maps.layers and not bench.failed("maps")
        return answer.because(say("pooling") if right else say("padding_ignored", sure=False))
    square = _square(found, case)
    if bench.maps.layers and bench.answers.get("maps", answer).verdict in ("PASS", "INFO"):
        cause = (
            "the maps are right, so something besides attention lets tokens mix: a convolution, a "
            "mean or norm over tokens, or a mask that is applied after the softmax."
        )
        named = Named(
            "besides_attention", cause, "Mask padding there too, or keep it a token's own."
        )
    else:
        named = name_gradient(
            square > GRADIENT, case.allowed, bench.pattern(case), case.valid, bench.n_layers
        )
    shot = picture_of_gradient(case, square[sample], bench.may(case)[sample], sample)
    return answer._replace(pictures=(shot,)).because(named)


def _known(bench: Bench, case: Case, found: Gradients) -> Tensor:
    """For each row, "batch key" of whom it may know: nobody of another sample."""
    may, known = bench.may(case), torch.zeros_like(found.values, dtype=torch.bool)
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


def _lost(bench: Bench, found: Gradients) -> Answer | None:
    """Pairs that are meant to be linked and are not, where no maps could tell."""
    if bench.maps.layers or bench.is_pooled:
        return None
    links = _unlinked(bench, found)
    if not len(links):
        return None
    with bench.subject.weights(lambda weight: weight * FLATTER):
        flat = bench.gradients_on(bench.base)
    if isinstance(flat, str) or not len(_unlinked(bench, flat)):
        return None
    row, key = (int(n) for n in links[0])
    sample, query = found.rows[row]
    text = (
        f"Sample {sample}: token {query} does not depend on token {key}, which it may look at; "
        f"{len(links)} links are missing."
    )
    square = _square(found, bench.base)
    named = name_gradient(
        square > 0, bench.base.allowed, bench.pattern(bench.base), bench.base.valid, bench.n_layers
    )
    shot = picture_of_gradient(bench.base, square[sample], bench.must(bench.base)[sample], sample)
    return Answer(
        Verdict.FAIL, text, sample=sample, query=query, key=key, amount=0.0, pictures=(shot,)
    ).because(named)


def _unlinked(bench: Bench, found: Gradients) -> Tensor:
    must = bench.must(bench.base)
    wanted = torch.stack([must[s, q] & bench.base.valid[s] for s, q in found.rows])
    values = torch.stack([found.values[n, s] for n, (s, _) in enumerate(found.rows)])
    return (wanted & (values == 0)).nonzero()


QUESTION = Question(
    "gradient",
    "Whom each output depends on",
    ask,
    ("runs", "static", "constants", "batch_independence", "maps", "row_sums"),
)
