"""Maps that are added or subtracted (differential attention), of which some are masked wrongly."""

from collections.abc import Sequence
from contextlib import suppress

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.layer_cause import cause_of_layer, equal_mask
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.setting import MASS, Case, ModelFault
from viz_encoder.audit.report import Check, Diagnosis, Verdict
from viz_encoder.shown import listed

EACH = (
    "Each map needs it before its own softmax, one that is subtracted, too: "
    "(q2 @ k2.mT).masked_fill(~allowed, -torch.inf).softmax(-1)."
)


def of_softmaxes(context: AuditContext, case: Case) -> Diagnosis | None:
    """The cause of the first wrong map, if others are right; else all may be masked later."""
    context = _bare(context)
    with suppress(ModelFault):
        layers = context.maps_on(case).layers
        wrong = _wrong(context, case, layers, lost=False)
        if wrong:
            number = min(wrong)
            found = cause_of_layer(context, case, layers[number], number)
            cause = f"{found.cause.removesuffix('.')}, {_where(wrong, layers)}."
            return found._replace(cause=cause, cure=f"{found.cure} {EACH}") if found.code else found
    return None


def lost_in_softmaxes(context: AuditContext, case: Case) -> Check | None:
    """A warning where some maps close what the intent opens, which others hide from gradients."""
    if context.maps.layers or context.scope.may_leave_out:
        return None
    context = _bare(context)
    with suppress(ModelFault):
        layers = context.maps_on(case, flat=True).layers
        wrong = _wrong(context, case, layers, lost=True)
        if wrong:
            number = min(wrong)
            found = equal_mask(context, case, layers[number], number)
            text = f"Some tokens cannot look where they may, {_where(wrong, layers)}."
            return Check(Verdict.WARN, text).because(found)
    return None


def masked_later(context: AuditContext, case: Case) -> Diagnosis | None:
    """The maps are right: whether a softmax gives weight to keys that are closed behind it."""
    context = _bare(context)
    with suppress(ModelFault):
        for number, layer in enumerate(context.maps_on(case).layers):
            seen = layer.judged(context.intent(case, number), case.valid)
            if float(seen.leak.max()) > MASS:
                return diagnose("after_softmax", sure=False)
    return None


def _bare(context: AuditContext) -> AuditContext:
    """The same audit, in which the model's maps are those of its softmaxes."""
    return context.but(subject=context.subject.as_bare())


def _wrong(
    context: AuditContext, case: Case, layers: Sequence[LayerRun], *, lost: bool
) -> dict[int, list[int]]:
    """By softmax, the heads that leak, or lack a key; none if all of them do."""
    if len(case.allowed) not in (1, len(layers)):
        return {}
    found = {}
    for number, layer in enumerate(layers):
        seen = layer.judged(context.intent(case, number), case.valid)
        bad = seen.lost > 0 if lost else seen.leak > MASS
        found[number] = bad.any(dim=2).any(dim=0).nonzero()[:, 0].tolist()
    n_wrong, n_maps = sum(map(len, found.values())), sum(one.shape[1] for one in layers)
    return {number: heads for number, heads in found.items() if heads} if n_wrong < n_maps else {}


def _where(wrong: dict[int, list[int]], layers: Sequence[LayerRun]) -> str:
    """Such as "in 1 of 2 softmaxes over the tokens (1, counted from 0)"."""
    heads, n_heads = wrong[min(wrong)], layers[min(wrong)].shape[1]
    if len(heads) < n_heads:
        return f"in heads {listed([str(one) for one in heads])} of {n_heads} of a softmax"
    which = listed([str(number) for number in wrong])
    return f"in {len(wrong)} of {len(layers)} softmaxes over the tokens ({which}, counted from 0)"
