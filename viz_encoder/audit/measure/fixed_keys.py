"""Attention over as many keys at any length: memories; of softmaxes, also routers, or unknown."""

from collections.abc import Collection, Sequence

import torch

from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.measure.subject import FixedKeys, Subject
from viz_encoder.trace import record
from viz_encoder.trace.left_out import may_be_attention
from viz_encoder.trace.record import Recording
from viz_encoder.trace.recorded_call import RecordedCall

SAME = 1e-6  # relative to the largest value


def attended(recording: Recording) -> Sequence[RecordedCall]:
    """The calls of a run; beside other kinds, only those softmaxes that may be attention."""
    sizes = {call.shape[2:] for call in recording.calls if call.kind != "softmax"}
    if not sizes:
        return recording.calls
    return [one for one in recording.calls if _may_be(one, sizes)]


def _may_be(call: RecordedCall, sizes: Collection[tuple[int, int]]) -> bool:
    """Whether the call may be attention: it has a value for each key, or the shape of a map."""
    if call.kind != "softmax" or call.attention.v.shape[3]:
        return True
    seen = call.attention.softmax
    return seen is None or may_be_attention(seen, sizes)


def memories(calls: Sequence[RecordedCall], n_tokens: int) -> dict[int, FixedKeys]:
    """Calls whose values are the same in all samples, which tokens that differ cannot give.

    Not where those of all calls are: then the samples may be the same.
    """
    alike = [_is_alike(call) for call in calls]
    return {
        number: "memory"
        for number, call in enumerate(calls)
        if alike[number] and not all(alike) and not call.cross and call.shape[2] == n_tokens
    }


def _is_alike(call: RecordedCall) -> bool:
    values = call.attention.v
    if call.attention.ragged or not values.numel() or len(values) == 1:
        return False
    return bool((values - values[:1]).abs().max() < SAME * values.abs().max())


def fixed_keys(
    subject: Subject, short: Case, long: Case, declared: tuple[int, ...] | None
) -> dict[int, FixedKeys]:
    """What each call is that has more queries for more tokens, but not keys.

    Args:
        subject: the model.
        short: a batch.
        long: other inputs, of another number of tokens.
        declared: queries and keys of cross-attention in the short one, if the caller says what it
            may look at.
    """
    runs = []
    for case in (short, long):
        with record(subject.whole, hidden=False, eager=True) as recording:
            subject.run(case)
        runs.append(attended(recording))
    if len(runs[0]) != len(runs[1]):
        return {}
    return {
        number: _kind_of(one, other, declared)
        for number, (one, other) in enumerate(zip(*runs, strict=True))
        if _is_fixed(one, other, declared)
    }


def _is_fixed(one: RecordedCall, other: RecordedCall, declared: tuple[int, ...] | None) -> bool:
    """Whether it has as many keys; of a kernel, those of a memory, not of a cache of one size."""
    if one.shape[2] == other.shape[2] or one.shape[3] != other.shape[3]:
        return False
    return one.kind == "softmax" or (not one.cross and _of_memory(one, other, declared))


def _of_memory(one: RecordedCall, other: RecordedCall, declared: tuple[int, ...] | None) -> bool:
    """Whether its values are the same for another input, or it is what the caller declares."""
    values, others = one.attention.v, other.attention.v
    apart = bool(values.shape[3]) and torch.equal(values[:1], others[:1])
    return apart or one.shape[2:] == declared


def _kind_of(one: RecordedCall, other: RecordedCall, declared: tuple[int, ...] | None) -> FixedKeys:
    if _of_memory(one, other, declared):
        return "memory"
    values, seen = one.attention.v, one.attention.softmax
    several_heads = seen is not None and len(seen.sizes) > 3
    return "unknown" if values.shape[3] or several_heads else "router"
