"""Whether any head of any layer looks where it may not, or never where it may."""

from contextlib import suppress

import torch
from torch import Tensor

from viz_encoder.audit.advice import suggest_leaving_out, suggest_reading_ids
from viz_encoder.audit.answer import Answer, passes, unsure, untested
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.checks import padding_invariance, perturbation
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.layer_cause import cause_of_layer, equal_mask
from viz_encoder.audit.diagnose.tried import by_trying
from viz_encoder.audit.measure.difference import first_nonfinite
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.maps import Maps, in_own_order, maps_of
from viz_encoder.audit.measure.places import stand_in_place
from viz_encoder.audit.measure.setting import MASS, Case, ModelFault
from viz_encoder.audit.measure.slots import Slots
from viz_encoder.audit.pictures import picture_of_map
from viz_encoder.audit.question import Question
from viz_encoder.audit.report import Verdict
from viz_encoder.errors import InputError
from viz_encoder.shown import counted


def ask(context: AuditContext) -> Answer:
    """Every layer, head and sample, never averaged; with gradients and without."""
    for grad in (False,) if context.grad_fault else (False, True):
        maps = maps_of(context.subject, context.base, grad=True) if grad else context.maps
        found = find_fault(context, context.base, maps)
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


def with_sinks(context: AuditContext, text: str) -> Answer:
    """The passing answer, with the share of attention that goes to keys other than tokens."""
    sinks = [_sink(layer) for layer in context.maps.layers if layer.has_sink]
    if not sinks:
        return passes(text)
    share = torch.cat([sink[_rows(context.base)[:, None].expand_as(sink)] for sink in sinks])
    more = f"{share.min():.0%} to {share.max():.0%} of attention goes to a key that is not a token"
    return Answer(Verdict.INFO, f"{text} {more}, such as a sink.")


def _with_gradients(context: AuditContext, found: Answer) -> Answer:
    """A leak that only the maps with gradients show; without them it is measured, not supposed."""
    quiet = _holds_without_gradients(context)
    told = {
        True: "; without them it does not",
        False: "; without them no map was seen, and outputs change with what they may not know",
        None: "; without them no map was seen",
    }[quiet]
    found = found._replace(evidence=f"{found.evidence[:-1]} (with gradients on{told}).")
    if quiet:
        return found.because(diagnose("path"))
    return found._replace(cause=unsure(found.cause))


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


def find_fault(context: AuditContext, case: Case, maps: Maps) -> Answer | None:
    """The worst that the maps of one run show; None where they are as meant."""
    if len(case.allowed) > 1 and len(maps.layers) != len(case.allowed):
        return None
    found, subject = _fault_in(context, case, maps), context.subject
    if found is None and not case.own:
        return None  # gradients tell of such a batch whether its tokens are in another order
    if found is None and (subject.reorders or stand_in_place(subject, case, subject.run)):
        return None
    turned = in_own_order(subject, case, maps)
    other = None if turned is None else _fault_in(context, case, turned)
    if found is None and other is not None and not other.code:
        return other.because(diagnose("order"))
    return found if turned is None else other


def _fault_in(context: AuditContext, case: Case, maps: Maps) -> Answer | None:
    seen = [one.judged(context.intent(case, n), case.valid) for n, one in enumerate(maps.layers)]
    leaks = [one.leak for one in seen]
    if max((float(leak.max()) for leak in leaks), default=0.0) > MASS:
        return _leaking(context, case, maps, leaks)
    for number, layer in enumerate(maps.layers):
        if layer.slots.n_open and _varies_with_length(context, case, number, layer.slots):
            return of_open_slots(number, layer.slots.n_open)
        lost = seen[number].lost
        if context.misses(lost) and (layer.sure or _stays_lost(context, case, number)):
            return _losing(context, case, number, layer, lost)
    return None


def of_open_slots(number: int, count: int) -> Answer:
    """A layer's keys that hold no token and are not a sink."""
    text = (
        f"Layer {number}: {counted(count, 'key')} without a token left open by the mask; attention "
        "goes there."
    )
    return Answer(Verdict.FAIL, text, layer=number).because(diagnose("open_slots"))


def _varies_with_length(context: AuditContext, case: Case, number: int, slots: Slots) -> bool:
    """Whether there are more or fewer open slots at another length: a sink has always as many.

    Where no other length runs, by what they hold.
    """
    setting = context.setting
    for length in () if setting.fixed else (case.valid.shape[1] - 1, case.valid.shape[1] + 4):
        with suppress(ModelFault, InputError):
            other = setting.case(setting.padding(length))
            layers = maps_of(context.subject, other).layers
            if len(layers) > number:
                return layers[number].slots.n_open != slots.n_open
    return slots.by_mistake


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


def _stays_lost(context: AuditContext, case: Case, number: int) -> bool:
    """Whether weights are 0 by a mask, and not because scores lie far apart."""
    with context.subject.flattened():
        flat = maps_of(context.subject, case)
    if len(flat.layers) <= number:
        return False
    judged = flat.layers[number].judged(context.intent(case, number), case.valid)
    return bool(judged.lost.any())


def _leaking(context: AuditContext, case: Case, maps: Maps, leaks: list[Tensor]) -> Answer:
    bad = [
        (n, h)
        for n, leak in enumerate(leaks)
        for h in range(leak.shape[1])
        if float(leak[:, h].max()) > MASS
    ]
    number = max(range(len(leaks)), key=lambda n: float(leaks[n].max()))
    first = bad[0][0]
    worst = _argmax(leaks[number])
    sample, head, query = worst
    key = _leaking_key(context, case, maps.layers[number], number, worst)
    amount = float(leaks[number][worst])
    n_maps = sum(leak.shape[1] for leak in leaks)
    text = (
        f"Layer {number} head {head}, sample {sample}: token {query} gives {amount:.3g} of its "
        f"attention to {_kind(case, sample, key)} {key}, which it may not attend to; "
        f"{len(bad)} of {n_maps} heads leak{_only(bad, leaks)}."
    )
    diagnosis = cause_of_layer(context, case, maps.layers[first], first)
    pictures = tuple(
        picture_of_map(context, case, maps.layers[n].map(s, h), (n, h, s))
        for n, h, s in dict.fromkeys([(number, head, sample), *((n, h, sample) for n, h in bad)])
    )[:4]
    answer = Answer(
        Verdict.FAIL,
        text,
        layer=number,
        head=head,
        sample=sample,
        query=query,
        key=key,
        amount=amount,
        pictures=pictures,
    )
    return suggest_reading_ids(context, answer.because(diagnosis))


def _leaking_key(
    context: AuditContext, case: Case, layer: LayerRun, number: int, row: tuple[int, ...]
) -> int:
    """The forbidden key with the largest weight in that row (sample, head, query)."""
    sample, head, query = row
    weights = layer.weights(slice(query, query + 1))[sample, head, 0].nan_to_num(0.0)
    allowed = context.intent(case, number)[sample, query]
    return int(weights.masked_fill(allowed, 0.0).argmax())


def _argmax(x: Tensor) -> tuple[int, ...]:
    return tuple(int(n) for n in torch.unravel_index(x.argmax(), x.shape))


def _kind(case: Case, sample: int, key: int) -> str:
    return "token" if bool(case.valid[sample, key]) else "padding"


def _only(bad: list[tuple[int, int]], leaks: list[Tensor]) -> str:
    """Name the layers and heads, unless it is all of them."""
    layers = {number for number, _ in bad}
    if len(leaks) > 1 and len(layers) == 1:
        number = next(iter(layers))
        heads = [head for _, head in bad]
        whole = len(heads) == leaks[number].shape[1]
        return f", only in layer {number}" + ("" if whole else f" (heads {heads})")
    heads = sorted({head for _, head in bad})
    if heads and len(heads) < leaks[0].shape[1]:
        return f", only heads {heads}"
    return ""


def _losing(
    context: AuditContext, case: Case, number: int, layer: LayerRun, lost: Tensor
) -> Answer:
    sample, head, query = (int(n) for n in lost.nonzero()[0])
    opened = layer.opened(slice(query, query + 1))[sample]
    closed = context.intent(case, number)[sample, query] & ~opened[min(head, len(opened) - 1), 0]
    key = int(closed.nonzero()[0])
    text = (
        f"Layer {number} head {head}, sample {sample}: token {query} never looks at token {key}, "
        f"which it may attend to; {int(lost.sum())} allowed pairs are closed."
    )
    shot = picture_of_map(context, case, layer.map(sample, head), (number, head, sample))
    diagnosis = by_trying(context, case, equal_mask(context, case, layer, number))
    answer = Answer(
        Verdict.FAIL,
        text,
        layer=number,
        head=head,
        sample=sample,
        query=query,
        key=key,
        amount=0.0,
        pictures=(shot,),
    )
    found = suggest_reading_ids(context, answer.because(diagnosis))
    return suggest_leaving_out(context, found)


QUESTION = Question(
    "maps", "Attention maps", ask, ("runs", "static", "constants", "batch_independence"), order=60
)
