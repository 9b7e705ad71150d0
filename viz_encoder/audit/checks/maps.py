"""Whether any head of any layer looks where it may not, or never where it may."""

import torch
from torch import Tensor

from viz_encoder.audit import wrong_maps
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.checks import padding_invariance, perturbation
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.difference import first_nonfinite
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.setting import MASS, Case
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
