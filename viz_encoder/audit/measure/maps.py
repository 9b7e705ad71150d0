"""The maps that a model made: each layer, head and sample; or why none can be seen."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from viz_encoder.audit.measure.by_sample import UNASSIGNED, as_layers, is_single
from viz_encoder.audit.measure.layer import Layer
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.errors import TraceError
from viz_encoder.trace import record
from viz_encoder.trace.attention_call import AttentionCall
from viz_encoder.trace.recorded_call import RecordedCall


@dataclass(frozen=True, eq=False)
class Maps:
    """The self-attention layers of one run in order; none, and why, if they could not be seen."""

    layers: tuple[Layer, ...]
    why_none: str = ""
    cross: tuple[Layer, ...] = ()  # cross-attention, where keys are other tokens than queries
    left_out: tuple[str, ...] = ()  # calls that are neither, in words


def maps_of(subject: Subject, case: Case, *, grad: bool = False, x: Tensor | None = None) -> Maps:
    """Run the model and read its maps; what cannot be read is left out, and said.

    It runs once, and a few times more if it calls attention sample by sample.
    """
    given = case if x is None else replace(case, x=x)
    try:
        with record(subject.whole, hidden=False) as recording:
            subject.run(given, grad=grad)
        if not recording.calls:
            recording.trace()
        if recording._fault is not None:
            raise recording._fault
    except TraceError as fault:
        return Maps((), str(fault).split(". ")[0] + ".")
    except ModelFault as fault:
        subject.run(given, grad=grad)  # raises it again, if it is not the watching's
        return Maps((), f"while being recorded, the model raised {fault}.")
    calls = [one for n, one in enumerate(recording.calls) if n not in subject.not_attention]
    if any(is_single(one, case) for one in calls):
        joined = as_layers(subject, given, calls, lambda one: subject.run(one, grad=grad))
        if joined is None:
            return Maps((), UNASSIGNED)
        calls = joined
    layers = [(call, _layer(call, case.valid)) for call in calls]
    found = tuple(layer for _, layer in layers if layer is not None)
    others = [call for call, layer in layers if layer is None]
    crossed = [(call, _cross(call, case.valid)) for call in others]
    return Maps(
        found,
        "" if found else "No recorded call is self-attention over these tokens.",
        tuple(layer for _, layer in crossed if layer is not None),
        tuple(_in_words(call) for call, layer in crossed if layer is None),
    )


def _layer(call: RecordedCall, valid: Tensor) -> Layer | None:
    n_samples, n_tokens = valid.shape
    n_batch, _, n_queries, n_keys = call.shape
    extra = n_keys - n_queries
    if n_batch not in (1, n_samples) or call.cross or extra < 0:
        return None
    if n_queries != n_tokens and not call.attention.ragged:
        return None
    ran = call.attention
    if ran.ragged and not _holds_the_real(call, valid):
        return None
    ran = unpacked(ran, valid) if ran.ragged else ran
    layer = Layer(call.name, ran, n_samples, by_hand=call.kind == "softmax")
    first = _first_token(layer, extra)
    return None if first is None else replace(layer, first=first, n_keys=n_tokens)


def _cross(call: RecordedCall, valid: Tensor) -> Layer | None:
    """Keys from elsewhere, for each sample."""
    n_batch = call.shape[0]
    if not call.cross or call.attention.ragged or n_batch not in (1, len(valid)):
        return None
    by_hand = call.kind == "softmax"
    return Layer(_name(call), call.attention, len(valid), by_hand=by_hand)


def _name(call: RecordedCall) -> str:
    """As the caller's own module names it."""
    return call.name.removeprefix("call.")


def _in_words(call: RecordedCall) -> str:
    return f"{_name(call)} ({call.shape[2]} queries, {call.shape[3]} keys)"


def _first_token(layer: Layer, extra: int) -> int | None:
    """The column of token 0: slots of no token, open to all, stand after the tokens or before."""
    if not extra:
        return 0
    after = before = True
    for rows in layer.row_blocks():
        opened = layer.opened(rows)
        after = after and bool(opened[..., -extra:].all())
        before = before and bool(opened[..., :extra].all())
    return 0 if after else extra if before else None


def not_over_tokens(subject: Subject, short: Case, long: Case) -> frozenset[int]:
    """Calls whose number of keys does not grow with the tokens: the gate of experts, mostly."""
    found = []
    for case in (short, long):
        with record(subject.whole, hidden=False) as recording:
            subject.run(case)
        found.append([call.shape[3] for call in recording.calls])
    if len(found[0]) != len(found[1]):
        return frozenset()
    return frozenset(n for n, (a, b) in enumerate(zip(*found, strict=True)) if a == b)


def _holds_the_real(call: RecordedCall, valid: Tensor) -> bool:
    """Whether a nested tensor has as many tokens as are real; else where they stood is unknown."""
    mask = call.attention.mask
    counts = call.shape[3] if mask is None else mask[:, 0].any(dim=1).sum(dim=1)
    return bool((valid.sum(dim=1) == counts).all())


def unpacked(ran: AttentionCall, valid: Tensor) -> AttentionCall:
    """From the places in a nested tensor, which has no padding, to those in the batch."""
    n_samples, n_tokens = valid.shape
    mask = ran.mask
    if mask is None:
        mask = torch.ones(1, 1, *ran.shape[2:], dtype=torch.bool, device=ran.q.device)
    q, k, v = (x.new_zeros(n_samples, x.shape[1], n_tokens, x.shape[3]) for x in ran[1:4])
    wide = mask.new_zeros(n_samples, mask.shape[1], n_tokens, n_tokens)
    for sample in range(n_samples):
        places = valid[sample].nonzero()[:, 0]
        count, one = len(places), sample if ran.shape[0] > 1 else 0
        for filled, packed in ((q, ran.q), (k, ran.k), (v, ran.v)):
            filled[sample][:, places] = packed[one][:, :count]
        given = mask[sample if mask.shape[0] > 1 else 0]
        wide[sample][:, places[:, None], places] = given.expand(-1, *ran.shape[2:])[
            :, :count, :count
        ]
    return ran._replace(q=q, k=k, v=v, mask=wide)
