"""What is wrong with the maps of one run, the worst first, with its cause."""

from contextlib import suppress

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.layer_cause import cause_of_layer, equal_mask, or_of_one_side
from viz_encoder.audit.diagnose.tried import by_trying
from viz_encoder.audit.faults.advice import suggest_leaving_out, suggest_reading_ids
from viz_encoder.audit.measure.changes import largest_of
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.maps import Maps, in_own_order, maps_of, own_name
from viz_encoder.audit.measure.places import stand_in_place
from viz_encoder.audit.measure.setting import MASS, Case, ModelFault
from viz_encoder.audit.measure.slots import Slots
from viz_encoder.audit.pictures import picture_of_map
from viz_encoder.audit.report import Check, fails
from viz_encoder.errors import InputError
from viz_encoder.shown import counted

VAGUE = ("", "batch_of_one")  # no cause, or one that says where it shows


def find_fault(context: AuditContext, case: Case, maps: Maps) -> Check | None:
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
    if turned is None:
        return found
    # A mask that the maps equal as they ran says more than that another order is wrong, too.
    named = found is not None and found.code and other is not None and other.code in VAGUE
    return found if named else other


def _fault_in(context: AuditContext, case: Case, maps: Maps) -> Check | None:
    seen = [one.judged(context.intent(case, n), case.valid) for n, one in enumerate(maps.layers)]
    leaks = [one.leak for one in seen]
    if max((float(leak.max()) for leak in leaks), default=0.0) > MASS:
        return _leaking(context, case, maps, leaks)
    for number, layer in enumerate(maps.layers):
        if layer.slots.n_open and _varies_with_length(context, case, number, layer.slots):
            return of_open_slots(number, layer.slots.n_open)
        lost = seen[number].lost
        closed = context.misses(lost) and (layer.sure or _stays_lost(context, case, number))
        if closed and not _is_made_up_for(context, case, maps, number):
            return _losing(context, case, number, layer, lost)
    return None


def of_open_slots(number: int, count: int) -> Check:
    """A layer's keys that hold no token and are not a sink."""
    text = (
        f"Layer {number}: {counted(count, 'key')} without a token left open by the mask; attention "
        "goes there."
    )
    return fails(text, layer=number).because(diagnose("open_slots"))


def _varies_with_length(context: AuditContext, case: Case, number: int, slots: Slots) -> bool:
    """Whether there are more or fewer open slots at another length: a sink has always as many.

    Or they are open to some rows only, as to the first block. Where no other length runs, by what
    they hold. Other tokens, between those that are judged, are no filling.
    """
    setting = context.setting
    if slots.some or slots.among:
        return not slots.among
    for length in () if setting.fixed else (case.valid.shape[1] - 1, case.valid.shape[1] + 4):
        with suppress(ModelFault, InputError):
            other = setting.case(setting.padding(length))
            layers = maps_of(context.subject, other).layers
            if len(layers) > number:
                return layers[number].slots.n_open != slots.n_open
    return slots.by_mistake


def _is_made_up_for(context: AuditContext, case: Case, maps: Maps, number: int) -> bool:
    """Whether a call beside it that cannot be judged, as of whole blocks, may hold what it lacks.

    Outputs then depend on all that the layer never looks at.
    """
    layer = maps.layers[number]
    beside = any(one.startswith(f"{own_name(layer.name)} (") for one in maps.left_out)
    found = context.gradients_on(case) if beside else ""
    if isinstance(found, str):
        return False
    lacks = context.intent(case, number) & ~layer.looked_at(0.0).any(dim=1)
    links = found.within(case)
    return all(bool((links[at][lacks[at]] > 0).all()) for at in found.rows)


def _stays_lost(context: AuditContext, case: Case, number: int) -> bool:
    """Whether weights are 0 by a mask, not by underflow of the softmax."""
    with context.subject.flattened():
        flat = maps_of(context.subject, case)
    if len(flat.layers) <= number:
        return False
    judged = flat.layers[number].judged(context.intent(case, number), case.valid)
    return bool(judged.lost.any())


def _leaking(context: AuditContext, case: Case, maps: Maps, leaks: list[Tensor]) -> Check:
    bad = [
        (n, h)
        for n, leak in enumerate(leaks)
        for h in range(leak.shape[1])
        if float(leak[:, h].max()) > MASS
    ]
    number = max(range(len(leaks)), key=lambda n: float(leaks[n].max()))
    first = bad[0][0]
    worst = largest_of(leaks[number])
    sample, head, query = worst
    key = maps.layers[number].worst_key(context.intent(case, number), worst, leaks=True)
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
    answer = fails(text, layer=number, head=head, sample=sample, query=query, key=key)
    answer = answer.but(amount=amount, pictures=pictures)
    return suggest_reading_ids(context, answer.because(diagnosis))


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


def _losing(context: AuditContext, case: Case, number: int, layer: LayerRun, lost: Tensor) -> Check:
    sample, head, query = (int(n) for n in lost.nonzero()[0])
    key = layer.worst_key(context.intent(case, number), (sample, head, query), leaks=False)
    text = (
        f"Layer {number} head {head}, sample {sample}: token {query} never looks at token {key}, "
        f"which it may attend to; {int(lost.sum())} allowed pairs are closed."
    )
    shot = picture_of_map(context, case, layer.map(sample, head), (number, head, sample))
    diagnosis = by_trying(context, case, equal_mask(context, case, layer, number))
    diagnosis = or_of_one_side(context, case, layer, number, diagnosis)
    answer = fails(text, layer=number, head=head, sample=sample, query=query, key=key)
    answer = answer.but(amount=0.0, pictures=(shot,))
    found = suggest_reading_ids(context, answer.because(diagnosis))
    return suggest_leaving_out(context, found)
