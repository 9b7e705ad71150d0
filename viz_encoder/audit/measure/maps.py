"""The maps that a model made: each layer, head and sample; or why none can be seen."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from viz_encoder.audit.measure.fixed_keys import attended, memories
from viz_encoder.audit.measure.joined import as_layers
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.places import NONE, RunCase, TokenPlaces, places_of
from viz_encoder.audit.measure.setting import LONG, MASS, Case, ModelFault
from viz_encoder.audit.measure.slots import of_tokens
from viz_encoder.audit.measure.softmaxes import places_in_batch, softmaxes_of, unpacked
from viz_encoder.audit.measure.subject import Subject, Whole
from viz_encoder.errors import TraceError
from viz_encoder.shown import counted, listed
from viz_encoder.trace import record
from viz_encoder.trace.recorded_call import RecordedCall
from viz_encoder.trace.softmax import SeenSoftmax

UNASSIGNED = (
    "This model calls attention with a batch of 1, for one sample or document at a time or for all "
    "in one row, and which of its tokens are whose cannot be told."
)


OUTERMOST = re.compile(r"'(?:call|parts\.\d+)'")  # as the whole names its parts
SEEN_BY = "without any attention that record() can see"
KINDS = (
    "without scaled_dot_product_attention, nn.MultiheadAttention, flex_attention or a softmax "
    "times values"
)


@dataclass(frozen=True, eq=False)
class Maps:
    """The self-attention layers of one run in order; none, and why, if they could not be seen."""

    layers: tuple[LayerRun, ...]
    why_none: str = ""
    cross: tuple[LayerRun, ...] = ()  # cross-attention, where keys are other tokens than queries
    left_out: tuple[str, ...] = ()  # calls that are neither, in words
    grad: bool | None = None  # whether gradients were on, if it was said
    unseen: tuple[str, ...] = ()  # softmaxes beside them that were not seen to meet values

    @property
    def memories(self) -> tuple[LayerRun, ...]:
        """Cross-attention; without any, the keys that stand beside the tokens of each layer."""
        beside = [one.beside for one in self.layers if not self.cross]
        return self.cross or tuple(
            replace(one, name=own_name(one.name)) for one in beside if one is not None
        )

    @property
    def kinds_left_out(self) -> tuple[str, ...]:
        """The calls that are neither, each kind once, with their number."""
        return named_once(self.left_out)


def named_once(names: Sequence[str]) -> tuple[str, ...]:
    """Each name once, with the number of calls that have it, if there are several."""
    counts = Counter(names)
    return tuple(f"{n} × {one}" if n > 1 else one for one, n in counts.items())


def beside_tokens(maps: Maps, *, varying: bool = False) -> list[str]:
    """Several keys of a layer that hold no token, or only such as may be made of some, in words."""
    layers: dict[int, list[str]] = {}
    for number, one in enumerate(maps.layers):
        if one.slots.vary if varying else one.slots.n_open > 1:
            layers.setdefault(one.slots.n_open, []).append(str(number))
    return [
        f"{counted(n, 'key')} beside the tokens in layer{'s' if len(at) > 1 else ''} {listed(at)}"
        for n, at in layers.items()
    ]


def n_calls(maps: Maps) -> int:
    """Calls of attention that were seen, whether of these tokens or not."""
    return len(maps.layers) + len(maps.cross) + len(maps.left_out)


def maps_of(
    subject: Subject, case: Case, *, grad: bool | None = None, reorders: bool = False
) -> Maps:
    """Run the model and read its maps; what cannot be read is left out, and said.

    It runs once, and a few times more if its calls are not of whole samples in order, or where it
    is known, or supposed (`reorders`), that it puts tokens or samples in another order. Where its
    maps are `bare`, they are its softmaxes.
    """
    if subject.bare:
        return Maps(tuple(softmaxes_of(subject, case, grad=grad)), grad=grad)
    try:
        with record(subject.whole, hidden=False, eager=True) as recording:
            subject.run(case, grad=grad)
        if not recording.calls:
            recording.trace()
        if recording._fault is not None:
            raise recording._fault
    except TraceError as fault:
        return Maps((), _why_none(str(fault)))
    except ModelFault as fault:
        subject.run(case, grad=grad)  # raises it again, if it is not the watching's
        return Maps((), f"while being recorded, the model raised {fault}.")
    ran, kinds = attended(recording), subject.fixed_keys
    kinds |= memories(ran, case.valid.shape[1])
    numbered = {n: one for n, one in enumerate(ran) if n not in kinds}
    aside = [(kinds[n], one) for n, one in enumerate(ran) if n in kinds]
    calls = [*numbered.values()]
    layers = _layers(subject, case, numbered, lambda one: subject.run(one, grad=grad))
    odd = [_is_odd(call, layer, case) for call, layer in zip(calls, layers, strict=True)]
    if reorders or subject.reorders or any(odd):
        joined = as_layers(subject, case, calls, lambda one: subject.run(one, grad=grad))
        if joined is None and any(is_single(call, case) for call in calls):
            return Maps((), UNASSIGNED)
        if joined is not None:
            layers = [
                _layer(one.call, case, after=one.by_token or None, among=one.among)
                for one in joined
            ]
            calls = [one.call for one in joined]
    others = [call for call, layer in zip(calls, layers, strict=True) if layer is None]
    found = tuple(layer for layer in layers if layer is not None)
    crossed = [(call, _cross(call, case.valid) if call.cross else None) for call in others]
    crossed += [
        (call, None if kind == "unknown" else _cross(call, case.valid))
        for kind, call in aside
        if kind != "router"
    ]
    return Maps(
        found,
        "" if found else "No recorded call is self-attention over these tokens.",
        tuple(layer for _, layer in crossed if layer is not None),
        tuple(_in_words(call) for call, layer in crossed if layer is None),
        grad,
        tuple(_softmax_in_words(*one) for one in recording.unseen),
    )


def _layers(
    subject: Subject, case: Case, calls: dict[int, RecordedCall], run: RunCase
) -> list[LayerRun | None]:
    """Each call as a layer of the tokens, if it is one.

    On which side of the tokens slots stand that one run leaves open, it finds once for a call.
    """
    known = subject.slots_after
    found = {n: _layer(one, case, after=known.get(n), surely=True) for n, one in calls.items()}
    guessed = {n: _layer(calls[n], case) for n, layer in found.items() if layer is None}
    open_ = [n for n, layer in guessed.items() if layer is not None]
    places = places_of(subject, case, [*calls.values()], run) if open_ else None
    for number, place in zip(calls, places or (), strict=False):
        if number in open_ and (after := _stand_after(place, case)) is not None:
            known[number] = after
            guessed[number] = _layer(calls[number], case, after=after)
    return [*(found | guessed).values()]


def _stand_after(place: TokenPlaces, case: Case) -> bool | None:
    """Whether slots stand after the tokens or before them: they move with no token."""
    held, n_tokens = place.tokens[1], case.valid.shape[1]
    sides = {True: slice(n_tokens, None), False: slice(0, held.shape[1] - n_tokens)}
    still = [after for after, slots in sides.items() if bool((held[:, slots] == NONE).all())]
    return still[0] if len(still) == 1 and bool((held >= 0).any()) else None


def _why_none(told: str) -> str:
    """What recording says of the whole, of the caller's model and without its advice."""
    first = told.split(". ")[0].removesuffix(".") + "."
    first = first.replace(f"of {Whole.__name__} was", "of your model was").replace(SEEN_BY, KINDS)
    return re.sub(r"'(?:call|parts\.\d+)\.([^']+)'", r"'\1'", OUTERMOST.sub("your model", first))


def in_own_order(subject: Subject, case: Case, maps: Maps) -> Maps | None:
    """Reorder samples and tokens of a model that permutes them.

    That is then known of the model, for all further maps.
    """
    if subject.reorders or case.valid.shape[1] > LONG:
        return None
    found = maps_of(subject, case, grad=maps.grad, reorders=True)
    other = len(maps.layers) == len(found.layers) and not all(
        torch.equal(*(one.looked_at(MASS)[_rows(one, case)] for one in pair))
        for pair in zip(maps.layers, found.layers, strict=True)
    )
    subject.reorders = other
    return found if other else None


def _rows(layer: LayerRun, case: Case) -> Tensor:
    """Real queries of each head."""
    return case.judged[:, None].expand(layer.shape[:3])


def is_single(call: RecordedCall, case: Case) -> bool:
    """Whether it is of one sample, though the batch has more."""
    return len(case.valid) > 1 and call.shape[0] == 1 and not call.attention.ragged


def _is_odd(call: RecordedCall, layer: LayerRun | None, case: Case) -> bool:
    """Whether its batch is not that of the samples, or its tokens are not these."""
    folded = len(call.attention.v) not in (1, len(case.valid))
    return is_single(call, case) or (layer is None and (folded or not call.cross))


def _layer(
    call: RecordedCall,
    case: Case,
    *,
    after: bool | None = None,
    surely: bool = False,
    among: bool = False,
) -> LayerRun | None:
    n_samples, n_tokens = case.valid.shape
    if call.shape[0] not in (1, n_samples) or call.cross:
        return None
    ran = call.attention
    if ran.ragged:
        if (held := places_in_batch(call, case.valid)) is None:
            return None
        ran = unpacked(ran, held)
    found = of_tokens(ran, case.allowed[0], case.judged, after=after, surely=surely)
    if found is None:
        return None
    ran, slots = found[0], found[1]._replace(among=among)
    by_hand = call.kind == "softmax"
    return LayerRun(call.name, ran, n_samples, slots, n_keys=n_tokens, by_hand=by_hand)


def _cross(call: RecordedCall, valid: Tensor) -> LayerRun | None:
    """Keys from elsewhere, for each sample."""
    n_batch = call.shape[0]
    if call.attention.ragged or n_batch not in (1, len(valid)):
        return None
    by_hand = call.kind == "softmax"
    return LayerRun(own_name(call.name), call.attention, len(valid), by_hand=by_hand)


def own_name(name: str) -> str:
    """Name within the caller's own module."""
    return re.sub(r"^(call|parts\.\d+)(\.|$)", "", name) or "the model itself"


def _softmax_in_words(name: str, seen: SeenSoftmax) -> str:
    rows, columns = seen.rows_and_columns
    return f"{own_name(name)} ({rows} rows, {columns} columns)"


def _in_words(call: RecordedCall) -> str:
    return f"{own_name(call.name)} ({call.shape[2]} queries, {call.shape[3]} keys)"
