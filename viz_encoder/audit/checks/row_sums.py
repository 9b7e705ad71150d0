"""Whether each row of a map sums to 1: less is a mask after the softmax, or a sink."""

from torch import Tensor

from viz_encoder.audit.bench import Answer, Bench, Question, passes, untested
from viz_encoder.audit.checks import gradient
from viz_encoder.audit.maps import Layer
from viz_encoder.audit.naming import say
from viz_encoder.audit.report import Verdict
from viz_encoder.audit.setting import TOLERANCE


def ask(bench: Bench) -> Answer:
    """Rows of real tokens that may look at anything; slots of no token count too."""
    if not bench.maps.layers:
        return untested(f"No maps could be seen: {bench.maps.why_none}")
    worst = max(
        enumerate(_away(bench, n, one) for n, one in enumerate(bench.maps.layers)),
        key=lambda pair: float(pair[1].max()),
    )
    number, away = worst
    tol = max(
        TOLERANCE.get(bench.maps.layers[number].dtype, 1e-5),
        TOLERANCE.get(bench.out.dtype, 1e-5),
    )
    if float(away.max()) <= 20 * tol:
        return passes(f"All rows sum to 1, to {float(away.max()):.1g}.")
    layer = bench.maps.layers[number]
    flat = int(away.argmax())
    sample, rest = divmod(flat, away[0].numel())
    head, query = divmod(rest, away.shape[2])
    total = float(layer.weights[sample, head, query].sum())
    text = f"Layer {number} head {head}, sample {sample}: row {query} sums to {total:.3g}."
    found = Answer(
        Verdict.FAIL, text, layer=number, head=head, sample=sample, query=query, amount=total
    )
    leak = (
        None
        if isinstance(bench.gradients, str)
        else gradient.look(bench, bench.base, bench.gradients)
    )
    if leak is None and total < 1:
        text += " No forbidden key has any influence, so the rest goes to a sink."
        return found._replace(verdict=Verdict.INFO, evidence=text)
    return found.because(say("after_softmax"))


def _away(bench: Bench, number: int, layer: Layer) -> Tensor:
    allowed = bench.intent(bench.base, number)
    rows = (bench.base.valid & allowed.any(dim=-1))[:, None]
    sums = layer.weights.double().sum(dim=-1)
    sums = sums if layer.sink is None else sums + layer.sink
    return (sums - 1).abs().nan_to_num(1.0).masked_fill(~rows, 0.0)


QUESTION = Question(
    "row_sums",
    "Rows of the maps sum to 1",
    ask,
    ("runs", "static", "constants", "batch_independence", "maps"),
)
