"""Whether each row of a map sums to 1: less is a mask after the softmax, or a sink."""

from torch import Tensor

from viz_encoder.audit.audit_context import Answer, AuditContext, Question, passes, untested
from viz_encoder.audit.checks import gradient
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.layer import Layer
from viz_encoder.audit.measure.setting import TOLERANCE
from viz_encoder.audit.report import Verdict


def ask(context: AuditContext) -> Answer:
    """Rows of real tokens that may attend to anything; slots of no token count too."""
    if not context.maps.layers:
        return untested(f"No maps could be seen: {context.maps.why_none}")
    worst = max(
        enumerate(_away(context, n, one) for n, one in enumerate(context.maps.layers)),
        key=lambda pair: float(pair[1].max()),
    )
    number, away = worst
    tol = max(
        TOLERANCE.get(context.maps.layers[number].dtype, 1e-5),
        TOLERANCE.get(context.out.dtype, 1e-5),
    )
    broken = next((n for n, one in enumerate(context.maps.layers) if _nan(context, n, one)), None)
    if broken is not None and float(away.max()) <= 20 * tol:
        return _of_nan(context, broken)
    if float(away.max()) <= 20 * tol:
        return passes(f"All rows sum to 1, to {float(away.max()):.1g}.")
    layer = context.maps.layers[number]
    flat = int(away.argmax())
    sample, rest = divmod(flat, away[0].numel())
    head, query = divmod(rest, away.shape[2])
    total = float(layer.map(sample, head)[query].sum())
    text = f"Layer {number} head {head}, sample {sample}: row {query} sums to {total:.3g}."
    found = Answer(
        Verdict.FAIL, text, layer=number, head=head, sample=sample, query=query, amount=total
    )
    leak = (
        None
        if isinstance(context.gradients, str)
        else gradient.find_fault(context, context.base, context.gradients)
    )
    if leak is None and total < 1 and not context.is_nonfinite:
        text += " No forbidden key has any influence, so the rest goes to a sink."
        return found._replace(verdict=Verdict.INFO, evidence=text)
    if context.is_nonfinite:
        return untested("Sums of the maps' rows could not be judged: the output is NaN.")
    return found.because(diagnose("after_softmax"))


def _of_nan(context: AuditContext, number: int) -> Answer:
    if context.is_nonfinite:
        return untested("Sums of the maps' rows could not be judged: they are NaN.")
    text = f"Layer {number}: a row of its maps is NaN, though its output is not."
    return Answer(Verdict.FAIL, text, layer=number).because(diagnose("empty_row", sure=False))


def _nan(context: AuditContext, number: int, layer: Layer) -> bool:
    nan = layer.judged(context.intent(context.base, number), context.base.valid).nan
    return bool((nan & _judged(context, number)).any())


def _judged(context: AuditContext, number: int) -> Tensor:
    """Rows of real tokens that may attend to anything, "batch 1 query"."""
    allowed = context.intent(context.base, number)
    return (context.base.valid & allowed.any(dim=-1))[:, None]


def _away(context: AuditContext, number: int, layer: Layer) -> Tensor:
    rows = _judged(context, number)
    sums = layer.judged(context.intent(context.base, number), context.base.valid).sums
    return (sums - 1).abs().nan_to_num(0.0).masked_fill(~rows, 0.0)


QUESTION = Question(
    "row_sums",
    "Rows of the maps sum to 1",
    ask,
    ("runs", "static", "constants", "batch_independence", "maps"),
    order=70,
)
