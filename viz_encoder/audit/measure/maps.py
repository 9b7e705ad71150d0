"""The maps that a model made: each layer, head and sample; or why none can be seen."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.errors import TraceError
from viz_encoder.trace import LayerTrace, record
from viz_encoder.trace.mask_parsing import NEVER
from viz_encoder.trace.module_stack import RecordedCall


@dataclass(frozen=True, eq=False)
class Layer:
    """What one attention layer did in one run."""

    name: str
    weights: Float[Tensor, "batch head query key"]
    opened: Bool[Tensor, "batch head query key"]  # by the mask that ran, or where weight is > 0
    sure: bool  # opened is the mask itself, so that a closed pair is closed on every input
    sink: Float[Tensor, "batch head query"] | None  # attention to slots that are no token
    bias: Tensor | None  # what was added to the scores, where it was
    dtype: torch.dtype  # in which it ran
    by_hand: bool  # a softmax of the model's own


@dataclass(frozen=True, eq=False)
class Maps:
    """The self-attention layers of one run in order; none, and why, if they could not be seen."""

    layers: tuple[Layer, ...]
    why_none: str = ""
    cross: tuple[Layer, ...] = ()  # cross-attention, where keys are other tokens than queries
    left_out: tuple[str, ...] = ()  # calls that are neither, in words


def maps_of(subject: Subject, case: Case, *, grad: bool = False, x: Tensor | None = None) -> Maps:
    """Run the model once and read its maps; what cannot be read is left out, and said."""
    try:
        with record(subject.whole, hidden=False) as recording:
            subject.run(case, x=x, grad=grad)
        if not recording.calls:
            recording.trace()
        if recording._fault is not None:
            raise recording._fault
    except TraceError as fault:
        return Maps((), str(fault).split(". ")[0] + ".")
    except ModelFault as fault:
        subject.run(case, x=x, grad=grad)  # raises it again, if it is not the watching's
        return Maps((), f"while being recorded, the model raised {fault}.")
    calls = [one for n, one in enumerate(recording.calls) if n not in subject.not_attention]
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
    ran = call.attention
    extra = n_keys - n_queries
    if n_batch not in (1, n_samples) or call.cross or extra < 0:
        return None
    if n_queries != n_tokens and not ran.ragged:
        return None
    if ran.ragged and not _holds_the_real(call, valid):
        return None
    with torch.no_grad():
        weights = torch.stack([_weights(call, sample) for sample in range(n_batch)])
        mask = _opened(call, weights)
        opened = weights > 0 if mask is None else mask
        if ran.ragged:
            weights, opened = _spread(weights, valid), _spread(opened, valid)
    whole = (n_samples, *weights.shape[1:])
    weights, opened = weights.expand(whole), opened.expand(whole)
    first = _first_token(opened, extra)
    if first is None:
        return None
    tokens = slice(first, first + n_tokens)
    cut = (weights[..., tokens], opened[..., tokens])
    sink = weights.sum(dim=-1) - cut[0].sum(dim=-1) if extra else None
    return Layer(
        call.name, *cut, mask is not None, sink, ran.bias, ran.v.dtype, call.kind == "softmax"
    )


def _cross(call: RecordedCall, valid: Tensor) -> Layer | None:
    """Keys from elsewhere, for each sample."""
    n_batch = call.shape[0]
    if not call.cross or call.attention.ragged or n_batch not in (1, len(valid)):
        return None
    with torch.no_grad():
        weights = torch.stack([_weights(call, sample) for sample in range(n_batch)])
        mask = _opened(call, weights)
    opened = weights > 0 if mask is None else mask
    whole = (len(valid), *weights.shape[1:])
    ran, by_hand = call.attention, call.kind == "softmax"
    both = weights.expand(whole), opened.expand(whole)
    return Layer(_name(call), *both, mask is not None, None, ran.bias, ran.v.dtype, by_hand)


def _name(call: RecordedCall) -> str:
    """As the caller's own module names it."""
    return call.name.removeprefix("call.")


def _in_words(call: RecordedCall) -> str:
    return f"{_name(call)} ({call.shape[2]} queries, {call.shape[3]} keys)"


def _first_token(opened: Tensor, extra: int) -> int | None:
    """The column of token 0: slots of no token, open to all, stand after the tokens or before."""
    if not extra or bool(opened[..., -extra:].all()):
        return 0
    return extra if bool(opened[..., :extra].all()) else None


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


def _weights(call: RecordedCall, sample: int) -> Tensor:
    ran = call.attention
    mask, bias, maps = (
        None if part is None else part[sample if part.shape[0] > 1 else 0]
        for part in (ran.mask, ran.bias, ran.maps)
    )
    q, k, v = ran.q[sample], ran.k[sample], ran.v[sample]
    one = LayerTrace(q=q, k=k, v=v, scale=ran.scale, mask=mask, bias=bias, maps=maps)
    return one.weights(slice(None), slice(None))


def _opened(call: RecordedCall, weights: Tensor) -> Tensor | None:
    """The mask that ran, as "batch head query key"; None where only the weights are known."""
    ran = call.attention
    if ran.maps is not None:
        return None
    opened = torch.ones_like(weights, dtype=torch.bool)
    if ran.mask is not None:
        opened = opened & ran.mask
    return opened & (ran.bias > NEVER) if ran.bias is not None else opened


def _holds_the_real(call: RecordedCall, valid: Tensor) -> bool:
    """Whether a nested tensor has as many tokens as are real; else where they stood is unknown."""
    mask = call.attention.mask
    counts = call.shape[3] if mask is None else mask[:, 0].any(dim=1).sum(dim=1)
    return bool((valid.sum(dim=1) == counts).all())


def _spread(compact: Tensor, valid: Tensor) -> Tensor:
    """From the places in a nested tensor, which has no padding, to those in the batch."""
    n_samples, n_tokens = valid.shape
    wide = compact.new_zeros(n_samples, compact.shape[1], n_tokens, n_tokens)
    for sample in range(n_samples):
        places = valid[sample].nonzero()[:, 0]
        count = len(places)
        wide[sample][:, places[:, None], places] = compact[sample, :, :count, :count]
    return wide
