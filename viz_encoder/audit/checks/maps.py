"""Whether any head looks where it may not, or never where it may, and whether its rows sum to 1."""

from collections.abc import Mapping

import torch
from torch import Tensor

from viz_encoder.audit import wrong_maps
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.checks import gradient, padding_invariance, perturbation
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.changes import first_nonfinite
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.setting import MASS, TOLERANCE, Case
from viz_encoder.audit.measure.softmaxes import RowSums, broken_rows
from viz_encoder.audit.question import FIRST, question
from viz_encoder.audit.report import Check, Verdict, passes, unsure, untested


@question("Attention maps", after=FIRST, order=60, judges=True)
def maps(context: AuditContext) -> Check:
    """Every layer, head and sample, never averaged; with gradients and without."""
    for grad in (False,) if context.grad_fault else (False, True):
        maps = maps_of(context.subject, context.base, grad=True) if grad else context.maps
        found = wrong_maps.find_fault(context, context.base, maps)
        if found is not None:
            return _with_gradients(context, found) if grad else found
    if not context.maps.layers:
        return untested(f"No maps could be seen: {context.maps.why_none}")
    if len(context.base.allowed) > 1 and len(context.maps.layers) != len(context.base.allowed):
        return untested(
            f"{len(context.maps.layers)} attention calls were seen for {len(context.base.allowed)} "
            "intents: which belongs to which layer cannot be told."
        )
    if any(_holds_nan(context, number) for number in range(len(context.maps.layers))):
        return untested("Attention maps could not be judged: rows of real tokens are NaN.")
    layers = len(context.maps.layers)
    heads = sum(layer.shape[1] for layer in context.maps.layers)
    text = f"{heads} heads of {layers} layers give no weight above {MASS:g} to a forbidden key."
    return with_sinks(context, text)


def with_sinks(context: AuditContext, text: str) -> Check:
    """The passing answer, with the share of attention that goes to keys other than tokens."""
    sinks = [_sink(layer) for layer in context.maps.layers if layer.has_sink]
    if not sinks:
        return passes(text)
    share = torch.cat([sink[_rows(context.base)[:, None].expand_as(sink)] for sink in sinks])
    more = f"{share.min():.0%} to {share.max():.0%} of attention goes to a key that is not a token"
    return Check(Verdict.INFO, f"{text} {more}, such as a sink.")


def _with_gradients(context: AuditContext, found: Check) -> Check:
    """A leak that only the maps with gradients show; without them it is measured, not supposed."""
    quiet = _holds_without_gradients(context)
    told = {
        True: "; without them it does not",
        False: "; without them no map was seen, and outputs change with what they may not know",
        None: "; without them no map was seen",
    }[quiet]
    found = found.but(evidence=f"{found.evidence[:-1]} (with gradients on{told}).")
    if quiet:
        return found.because(diagnose("path"))
    return found.but(cause=unsure(found.cause))


def _holds_without_gradients(context: AuditContext) -> bool | None:
    """Whether no leak is measured there, by maps or by outputs; None where nothing could judge."""
    if context.maps.layers:
        return True
    case, out = context.base, context.out
    if first_nonfinite(out, case) is not None:
        return None
    if perturbation.find_fault(context, case, out) is not None:
        return False
    alone = padding_invariance.find_fault(context, case, out)
    if alone is not None and alone.verdict is Verdict.FAIL:
        return False
    return True if alone is None or case.x.is_floating_point() else None


def _rows(case: Case, layer: int = 0) -> Tensor:
    """Real tokens that may attend to anything at all, "batch query"."""
    return case.valid & case.allowed[layer if len(case.allowed) > 1 else 0].any(dim=-1)


def _holds_nan(context: AuditContext, number: int) -> bool:
    case, layer = context.base, context.maps.layers[number]
    nan = layer.judged(context.intent(case, number), case.valid).nan
    return bool((nan & _rows(case)[:, None]).any())


def _sink(layer: LayerRun) -> Tensor:
    """Attention on sink slots, "batch head query"."""
    return torch.cat([layer.sink(rows) for rows in layer.row_blocks()], dim=2)


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
