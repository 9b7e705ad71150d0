"""Whether tokens look where they may on a batch that a trial has changed."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.measure.gradients import Gradients
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.setting import GRADIENT, MASS, Case
from viz_encoder.audit.missing_links import missing_links

LayersAndHeads = list[tuple[int, int]]


def is_right_on(
    context: AuditContext, case: Case, places: LayersAndHeads | None = None
) -> bool | None:
    """Whether tokens look where they may on this batch, and nowhere else; None if unseen.

    Not if the tokens do not stand at these places among the keys.
    """
    layers = maps_of(context.subject, case).layers
    if places is not None and places_of_tokens(layers) != places:
        return False
    if layers and len(case.allowed) in (1, len(layers)):
        judged = [one.judged(context.intent(case, n), case.valid) for n, one in enumerate(layers)]
        return all(float(o.leak.max()) <= MASS and not context.misses(o.lost) for o in judged)
    found = context.gradients_on(case)
    if isinstance(found, str) or context.is_pooled:
        return None
    if context.misses(missing_links(context, case, found).closed):
        return False
    return is_closed(context, case, found)


def is_closed(context: AuditContext, case: Case, found: Gradients) -> bool:
    """Whether no row changes with a token that it may not know of."""
    may = context.may(case)
    depends = found.relative().nan_to_num(1.0) > GRADIENT
    return all(
        not bool((depends[n] & ~_of_sample(may, sample, query)).any())
        for n, (sample, query) in enumerate(found.rows)
    )


def _of_sample(known: Tensor, sample: int, query: int) -> Tensor:
    """Tokens that influence one token, "batch key"."""
    whole = torch.zeros_like(known[:, 0])
    whole[sample] = known[sample, query]
    return whole


def right_with(context: AuditContext, case: Case, change: Callable[[Case], Case]) -> bool:
    """Whether all is right with the batch changed in this way, and with a further one."""
    further = context.batches.further(case)[: 1 if case is context.base else 2]
    return all(is_right_on(context, change(one)) for one in (case, *further))


def places_of_tokens(layers: Sequence[LayerRun]) -> LayersAndHeads:
    """The first token's key and the number of open slots, for each layer."""
    return [(one.slots.first, one.slots.n_open) for one in layers]
