"""Builds a Trace from captured calls: picks the layers, the sample, and the tokens."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_encoder.errors import InputError
from viz_encoder.trace.layer import LayerTrace, Origin
from viz_encoder.trace.left_out import notes_of_left_out
from viz_encoder.trace.mask_parsing import NEVER
from viz_encoder.trace.one_stack import ChosenStack, modules_within, one_stack
from viz_encoder.trace.recorded_call import RecordedCall
from viz_encoder.trace.recorded_parts import RecordedParts, parts_of
from viz_encoder.trace.recorded_sample import GivenTokens, names_of
from viz_encoder.trace.run_facts import RunFacts
from viz_encoder.trace.trace import Trace

BETWEEN = (
    "No hidden states are kept: the model computes something between its blocks, such as a "
    "residual that is added outside, so a block's output is not the next block's input."
)
INFERRED = (
    "Which tokens are real was inferred from the masks that ran: a token is real if any query may "
    "attend to it. If the mask itself is in doubt, say which are real: recording.trace(valid=…).",
)


def assemble(
    chosen: ChosenStack,
    facts: RunFacts,
    module: nn.Module,
    meant: GivenTokens,
    key_tokens: Sequence[str] | None,
    valid: Tensor | None,
) -> Trace:
    """Build the trace of one sample of the chosen calls."""
    calls = one_stack(chosen)
    n_tokens = _n_tokens(calls, meant.tokens)
    apart = chosen.cross or chosen.keyed  # keys and queries are different tokens
    layers = tuple(_layer(call, chosen.sample, n_tokens, apart) for call in calls)
    changed = _changed_between(calls)
    between = (BETWEEN,) if changed else ()
    hidden, output = (
        _no_hidden(calls, n_tokens) if between else _hidden(calls, chosen.sample, n_tokens)
    )
    real = _valid(layers, apart) if valid is None else _given_valid(valid, n_tokens)
    is_within = modules_within(chosen.within, chosen.modules)
    left_out = notes_of_left_out(facts.softmaxes, chosen.calls, calls, is_within)
    inferred = INFERRED if valid is None and not bool(real.all()) else ()
    return Trace(
        layers=layers,
        hidden_states=hidden,
        output=output,
        valid=real,
        sample=meant.sample(facts.given, n_tokens, chosen.sample, int(real.nonzero().max()) + 1),
        origin=_origin(calls[0], module),
        key_tokens=names_of(key_tokens, layers[0].k.shape[1], "key_tokens") if apart else (),
        notes=(
            *between,
            *_again(calls, changed),
            *_notes(calls),
            *facts.notes(calls),
            *left_out,
            *inferred,
        ),
        parts=_parts(calls, chosen.sample, n_tokens),
    )


def _n_tokens(calls: list[RecordedCall], tokens: Sequence[str] | None) -> int:
    """Number of tokens that ran; nested tensors ran without the padding the names may include."""
    ran = calls[0].shape[2]
    if tokens is not None and len(tokens) > ran and calls[0].attention.ragged:
        return len(tokens)
    return ran


def _layer(call: RecordedCall, sample: int, n_tokens: int, apart: bool) -> LayerTrace:
    ran = call.attention
    wider = n_tokens - ran.q.shape[2] if ran.ragged else 0
    mask, bias = _of(ran.mask, sample), _of(ran.bias, sample)
    if wider:
        whole = torch.ones(1, *call.shape[2:], dtype=torch.bool, device=ran.q.device)
        mask = F.pad(whole if mask is None else mask, (0, wider, 0, wider))
    q, k, v, signature = (
        None if x is None else F.pad(x[sample], (0, 0, 0, wider))
        for x in (ran.q, ran.k, ran.v, ran.signature)
    )
    assert q is not None and k is not None and v is not None
    return LayerTrace(
        q=q,
        k=k,
        v=v,
        scale=ran.scale,
        mask=mask,
        bias=bias,
        maps=_of(ran.maps, sample),
        sink=_of(ran.sink, sample),
        signature=None if ran.dropout else signature,
        name=call.name,
        cross=apart,
    )


def _of(x: Tensor | None, sample: int) -> Tensor | None:
    return None if x is None else x[sample if x.shape[0] > 1 else 0]


def _given_valid(valid: object, n_tokens: int) -> Tensor:
    if not isinstance(valid, Tensor) or valid.dtype != torch.bool or valid.shape != (n_tokens,):
        what = (
            f"a {valid.dtype} tensor of shape {tuple(valid.shape)}"
            if isinstance(valid, Tensor)
            else f"of type {type(valid).__name__}"
        )
        raise InputError(
            f"valid is {what}; give a torch.bool tensor of shape ({n_tokens},), True = a real "
            "token. Other conventions are converted by viz_encoder.masks.from_…"
        )
    if not bool(valid.any()):
        raise InputError("valid marks every token as padding; at least one must be real.")
    return valid


def _valid(layers: tuple[LayerTrace, ...], apart: bool) -> Tensor:
    """Infer the real tokens: those that any query may attend to in any layer."""
    n_tokens, device = layers[0].q.shape[1], layers[0].q.device
    if apart:
        return torch.ones(n_tokens, dtype=torch.bool, device=device)
    reached = torch.zeros(n_tokens, dtype=torch.bool, device=device)
    masked = {(id(layer.mask), id(layer.bias), id(layer.maps)): layer for layer in layers}
    for layer in masked.values():
        reached = reached | _reached(layer)
    return reached if bool(reached.any()) else torch.ones_like(reached)  # the mask itself is wrong


def _reached(layer: LayerTrace) -> Tensor:
    """Keys that some query attends to, or may attend to where maps are not kept."""
    may = torch.ones(1, 1, layer.k.shape[1], dtype=torch.bool, device=layer.k.device)
    if layer.maps is not None:  # a query that sees only padding attends uniformly
        uneven = layer.maps.amax(dim=-1, keepdim=True) > layer.maps.amin(dim=-1, keepdim=True)
        may = ((layer.maps > 0) & uneven) if bool(uneven.any()) else may
    if layer.mask is not None:
        may = may & layer.mask
    if layer.bias is not None:
        may = may & (layer.bias > NEVER)
    return may.flatten(0, 1).any(dim=0)


def _hidden(
    calls: list[RecordedCall], sample: int, n_tokens: int
) -> tuple[tuple[Tensor, ...], Tensor]:
    """Hidden states before and after each block and after the final norm; all of them or none."""
    states = (calls[0].before, *(call.after for call in calls), calls[-1].normed)
    picked = [_state(state, calls[0], sample, n_tokens) for state in states]
    output = picked[-1] if picked[-1] is not None else picked[-2]
    hidden = tuple(state for state in picked[:-1] if state is not None)
    if len(hidden) <= len(calls):
        return _no_hidden(calls, n_tokens)
    return hidden, hidden[-1] if output is None else output


def _no_hidden(calls: list[RecordedCall], n_tokens: int) -> tuple[tuple[Tensor, ...], Tensor]:
    return (), calls[0].attention.q.new_zeros(n_tokens, 0)


def _changed_between(calls: list[RecordedCall]) -> bool:
    """Whether any block's input differs from the previous block's output.

    This happens when the residual is added outside the numbered modules, whose outputs are then not
    the hidden states.
    """
    return any(
        one.after is not None
        and two.before is not None
        and one.after is not two.before
        and (one.after.shape != two.before.shape or not torch.equal(one.after, two.before))
        for one, two in pairwise(calls)
    )


def _again(calls: list[RecordedCall], changed: bool) -> tuple[str, ...]:
    """Note any module that attended several times, but not (as in ALBERT) to its own output."""
    name, count = Counter(call.name for call in calls).most_common(1)[0]
    known = not any(one.after is None or two.before is None for one, two in pairwise(calls))
    if count == 1 or (known and not changed):
        return ()
    return (
        f"{name!r} attended {count} times in this run, and each time is a layer of its own here. "
        "If a part of the model is called with several sequences, record that part by itself: each "
        "call of it is then a run.",
    )


def _state(state: Tensor | None, call: RecordedCall, sample: int, n_tokens: int) -> Tensor | None:
    """Select one sample's "token d_model" from "batch token d_model" or "token batch d_model"."""
    if state is None:
        return None
    n_samples, _, n_queries, _ = call.shape
    state = state[None] if state.ndim == 2 else state
    if call.batch_first and state.shape[:2] == (n_samples, n_queries):
        return F.pad(state[sample], (0, 0, 0, n_tokens - n_queries))
    if state.shape[:2] == (n_samples, n_tokens):
        return state[sample] if call.batch_first or n_samples != n_tokens else state[:, sample]
    return state[:, sample] if state.shape[:2] == (n_tokens, n_samples) else None


def _parts(calls: list[RecordedCall], sample: int, n_tokens: int) -> RecordedParts:
    entered = [
        None if call.part is None else _state(call.part.entered, call, sample, n_tokens)
        for call in calls
    ]
    ragged = any(call.attention.ragged for call in calls)
    return parts_of([call.part for call in calls], entered, calls[-1].norm, ragged=ragged)


def _origin(call: RecordedCall, module: nn.Module) -> Origin:
    source = call.attention.v  # the softmax may have more columns than the product it fed
    return Origin(
        model=type(module).__name__,
        device=str(source.device),
        dtype=str(source.dtype).removeprefix("torch."),
        kernel=call.attention.kernel,
    )


def _notes(calls: list[RecordedCall]) -> tuple[str, ...]:
    notes = []
    dropout = max(call.dropout for call in calls)
    if dropout:
        notes.append(
            f"Dropout of {dropout:g} was on (train): in the maps that ran, about that fraction "
            f"of the weights was 0 and the rest {1 / (1 - dropout):.3g} times as large as "
            "shown."
            if dropout < 1
            else "Dropout of 1 was on: the maps that ran were 0."
        )
    if any(call.kind == "softmax" and call.parts is None for call in calls):
        notes.append(
            "This model computes its softmax itself (eager attention): its maps are kept exactly "
            "as they ran."
        )
    if any(call.fused for call in calls):
        notes.append("A fused torch kernel ran: queries and keys were recomputed from its inputs.")
    return (*notes, *dict.fromkeys(call.attention.note for call in calls if call.attention.note))
