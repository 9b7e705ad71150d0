"""Whether any head looks where it may not, or never where it may, and whether its rows sum to 1."""

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.faults import changed_tokens, gradients, padding, weights
from viz_encoder.audit.faults.row_sums import answer_of, judged_rows, of_sum
from viz_encoder.audit.measure.changes import first_nonfinite, largest_of
from viz_encoder.audit.measure.layer import LayerRun, RowFaults
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.setting import MASS, TOLERANCE
from viz_encoder.audit.measure.softmaxes import FACTOR, broken_rows
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Verdict, fails, passes, unsure, untested
from viz_encoder.errors import InputError


@question(
    "Attention maps",
    Evidence.WEIGHTS,
    of="made own",
    after="CALL PASSED SPOILED",
    part="layers",
    judges=True,
)
def maps(context: AuditContext) -> Check:
    """Every layer, head and sample, never averaged; with gradients and without.

    A batch of the caller's is looked at only as it runs in its own mode.
    """
    seen, case = context.maps, context.base
    if not seen.layers and case.own:
        return untested(f"No maps could be seen: {seen.why_none}{_instead(context)}")
    if case.own and len(case.allowed) not in (1, len(seen.layers)):
        raise InputError(
            f"{len(case.allowed)} intents are given, but {len(seen.layers)} attention layers were "
            "seen; give 1, or one per layer."
        )
    for grad in (False,) if case.own or context.grad_fault else (False, True):
        maps = maps_of(context.subject, case, grad=True) if grad else seen
        found = weights.find_fault(context, case, maps)
        if found is not None:
            return _with_gradients(context, found) if grad else found
    if not seen.layers:
        return untested(f"No maps could be seen: {seen.why_none}")
    if len(case.allowed) > 1 and len(seen.layers) != len(case.allowed):
        return untested(
            f"{len(seen.layers)} attention calls were seen for {len(case.allowed)} "
            "intents: which belongs to which layer cannot be told."
        )
    if any(bool((one.nan & rows).any()) for one, rows in judged_rows(context)):
        return untested("Attention maps could not be judged: rows of real tokens are NaN.")
    heads = sum(layer.shape[1] for layer in seen.layers)
    right = f"give no weight above {MASS:g} to a forbidden key"
    right = "look where they may, and nowhere else" if case.own else right
    return _with_sinks(context, f"{heads} heads of {len(seen.layers)} layers {right}.")


def _instead(context: AuditContext) -> str:
    """What was seen in place of attention over the tokens of the intent."""
    kinds, n_tokens = context.maps.kinds_left_out, context.base.valid.shape[1]
    return f" The intent has {n_tokens} tokens; seen were {', '.join(kinds)}." if kinds else ""


def _with_sinks(context: AuditContext, text: str) -> Check:
    """The passing answer, with the share of attention that goes to keys other than tokens."""
    sinks = [_sink(layer) for layer in context.maps.layers if layer.has_sink]
    if not sinks:
        return passes(text)
    rows = judged_rows(context)[0][1]
    share = torch.cat([sink[rows.expand_as(sink)] for sink in sinks])
    more = f"{share.min():.0%} to {share.max():.0%} of attention goes to a key that is not a token"
    return Check(Verdict.INFO, f"{text} {more}, such as a sink.")


def _sink(layer: LayerRun) -> Tensor:
    """Attention on sink slots, "batch head query"."""
    return torch.cat([layer.sink(rows) for rows in layer.row_blocks()], dim=2)


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
    if changed_tokens.find_fault(context, case, out) is not None:
        return False
    alone = padding.find_fault(context, case, out)
    if alone is not None and alone.verdict is Verdict.FAIL:
        return False
    return True if alone is None or case.x.is_floating_point() else None


@question(
    "Rows of the maps sum to 1",
    Evidence.WEIGHTS,
    of="made own",
    after="CALL PASSED SPOILED maps",
)
def row_sums(context: AuditContext) -> Check:
    """Rows of real tokens that may attend to anything; slots of no token count too."""
    if context.base.own:
        return _of_own_batch(context)
    if not context.maps.layers:
        return untested(f"No maps could be seen: {context.maps.why_none}")
    faults, nonfinite = judged_rows(context), context.is_nonfinite
    away = [_away(*one) for one in faults]
    number = max(range(len(away)), key=lambda n: float(away[n].max()))
    layer, most = context.maps.layers[number], float(away[number].max())
    if most <= FACTOR * max(TOLERANCE.get(one, 1e-5) for one in (layer.dtype, context.out.dtype)):
        nan = [n for n, (one, rows) in enumerate(faults) if bool((one.nan & rows).any())]
        if nan and nonfinite:
            return untested("Sums of the maps' rows could not be judged: they are NaN.")
        if nan:
            text = f"Layer {nan[0]}: a row of its maps is NaN, though its output is not."
            return fails(text, layer=nan[0]).because(diagnose("empty_row", sure=False))
        empty = any(bool(((one.sums == 0) & rows).any()) for one, rows in faults)
        but = ", but those of tokens that look at nothing" if empty else ""
        return passes(f"All rows sum to 1, to within {most:.1g}{but}.")
    sample, head, query = largest_of(away[number])
    total = float(layer.map(sample, head)[query].sum())
    found = of_sum(number, sample, head, query, total)
    given = context.gradients
    leak = None if isinstance(given, str) else gradients.find_fault(context, context.base, given)
    if leak is None and total < 1 and not nonfinite:
        more = " No forbidden key has any influence: the rest goes to a sink, or is taken away."
        return found.but(verdict=Verdict.INFO, evidence=found.evidence + more)
    if nonfinite:
        return untested("Sums of the maps' rows could not be judged: the output is NaN.")
    return found.because(diagnose("after_softmax"))


def _of_own_batch(context: AuditContext) -> Check:
    """Of a batch that cannot be changed: rows with no forbidden key must sum to 1."""
    layers, case = context.maps.layers, context.base
    if not layers:
        return untested("Sums of the maps' rows: no maps could be seen.")
    if len(case.allowed) not in (1, len(layers)):
        return untested(
            "Sums of the maps' rows: which intent belongs to which layer cannot be told."
        )
    found = {}
    for number, (one, rows) in enumerate(judged_rows(context)):
        tol = TOLERANCE.get(layers[number].dtype, 1e-5)
        broken = broken_rows(one.sums, rows[:, 0], context.intent(case, number), tol)
        if broken is not None:
            found[number] = broken
    return answer_of(found)


def _away(layer: RowFaults, rows: Tensor) -> Tensor:
    """How far each row is from 1; a row of zeros looks at nothing, as the maps say."""
    return (layer.sums - 1).abs().nan_to_num(0.0).masked_fill(~rows | (layer.sums == 0), 0.0)
