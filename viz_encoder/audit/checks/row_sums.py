"""Whether each row of a map sums to 1: less is a mask after the softmax, or a sink."""

from collections.abc import Mapping

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.checks import gradient
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.setting import TOLERANCE
from viz_encoder.audit.measure.softmaxes import RowSums, broken_rows
from viz_encoder.audit.question import FIRST, question
from viz_encoder.audit.report import Check, Verdict, passes, untested


@question("Rows of the maps sum to 1", after=f"{FIRST} maps", order=70)
def row_sums(context: AuditContext) -> Check:
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
        empty = any(_is_empty(context, n, one) for n, one in enumerate(context.maps.layers))
        but = ", but those of tokens that look at nothing" if empty else ""
        return passes(f"All rows sum to 1, to within {float(away.max()):.1g}{but}.")
    layer = context.maps.layers[number]
    flat = int(away.argmax())
    sample, rest = divmod(flat, away[0].numel())
    head, query = divmod(rest, away.shape[2])
    total = float(layer.map(sample, head)[query].sum())
    text = f"Layer {number} head {head}, sample {sample}: row {query} sums to {total:.3g}."
    found = Check(
        Verdict.FAIL, text, layer=number, head=head, sample=sample, query=query, amount=total
    )
    leak = (
        None
        if isinstance(context.gradients, str)
        else gradient.find_fault(context, context.base, context.gradients)
    )
    if leak is None and total < 1 and not context.is_nonfinite:
        text += " No forbidden key has any influence: the rest goes to a sink, or is taken away."
        return found.but(verdict=Verdict.INFO, evidence=text)
    if context.is_nonfinite:
        return untested("Sums of the maps' rows could not be judged: the output is NaN.")
    return found.because(diagnose("after_softmax"))


def ask_one_batch(context: AuditContext) -> Check:
    """For a batch that cannot be changed: rows with no forbidden key must sum to 1."""
    layers = context.maps.layers
    if not layers:
        return untested("Sums of the maps' rows: no maps could be seen.")
    if len(context.base.allowed) not in (1, len(layers)):
        return untested(
            "Sums of the maps' rows: which intent belongs to which layer cannot be told."
        )
    found = {}
    for number, layer in enumerate(layers):
        allowed, judged = context.intent(context.base, number), _judged(context, number)
        tol = TOLERANCE.get(layer.dtype, 1e-5)
        broken = broken_rows(_sums(context, number, layer), judged[:, 0], allowed, tol)
        if broken is not None:
            found[number] = broken
    return answer_of(found)


def answer_of(found: Mapping[int, RowSums]) -> Check:
    """Explain rows that do not sum to 1, by layer: a mask or a sink may be why.

    A sink takes its share of rows to which no key is forbidden, too; a mask does not.
    """
    if not found:
        return passes("All rows sum to 1.")
    number, worst = max(found.items(), key=lambda pair: abs(pair[1].total - 1))
    sample, head, query, total, _ = worst
    text = f"Layer {number} head {head}, sample {sample}: row {query} sums to {total:.3g}."
    if total > 1 or not all(one.open_hold for one in found.values()):
        return untested(
            f"{text} Whether a sink or a mask after the softmax is the reason was not tested."
        )
    text = f"{text} Rows without a forbidden key sum to 1."
    return Check(
        Verdict.FAIL, text, layer=number, head=head, sample=sample, query=query, amount=total
    ).because(diagnose("after_softmax"))


def _of_nan(context: AuditContext, number: int) -> Check:
    if context.is_nonfinite:
        return untested("Sums of the maps' rows could not be judged: they are NaN.")
    text = f"Layer {number}: a row of its maps is NaN, though its output is not."
    return Check(Verdict.FAIL, text, layer=number).because(diagnose("empty_row", sure=False))


def _nan(context: AuditContext, number: int, layer: LayerRun) -> bool:
    nan = layer.judged(context.intent(context.base, number), context.base.valid).nan
    return bool((nan & _judged(context, number)).any())


def _judged(context: AuditContext, number: int) -> Tensor:
    """Rows of real tokens that may attend to anything, "batch 1 query"."""
    allowed = context.intent(context.base, number)
    return (context.base.valid & allowed.any(dim=-1))[:, None]


def _away(context: AuditContext, number: int, layer: LayerRun) -> Tensor:
    """How far each row is from 1; a row of zeros looks at nothing, as the maps say."""
    sums = _sums(context, number, layer)
    apart = (sums - 1).abs().nan_to_num(0.0)
    return apart.masked_fill(~_judged(context, number) | (sums == 0), 0.0)


def _is_empty(context: AuditContext, number: int, layer: LayerRun) -> bool:
    """Whether a row that may attend to something sums to 0."""
    return bool(((_sums(context, number, layer) == 0) & _judged(context, number)).any())


def _sums(context: AuditContext, number: int, layer: LayerRun) -> Tensor:
    return layer.judged(context.intent(context.base, number), context.base.valid).sums
