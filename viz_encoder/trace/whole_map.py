"""Whether a call's maps cover the whole sequence, token by token, or why not."""

import math
from collections.abc import Sequence

from viz_encoder.shown import counted
from viz_encoder.trace.recorded_call import RecordedCall, lengths_in, n_tokens_in
from viz_encoder.trace.softmax import SeenSoftmax

FEW = 3


def why_not_whole(call: RecordedCall) -> str:
    """What the call does instead, worded to follow the module's name; "" for a whole map.

    The numbers of keys and queries may differ: such a map has its own names on each axis.
    """
    if call.fused or call.parts is not None or call.kind == "multi_head_attention":
        return ""
    if (seen := call.attention.softmax) is not None and seen.in_parts:
        return (
            f"multiplies the {seen.rows_and_columns[1]:,} columns of its softmax with values in "
            "several products, so none of them is the whole map"
        )
    others = [one for one in call.beside if one.cross == call.cross]
    if len(others) > 1 and not _are_layers(others):
        return f"attends in {len(others)} parts a pass ({_sizes(others)})"
    return _why_not_of_tokens(call)


def is_uneven(call: RecordedCall) -> bool:
    """Whether the numbers of keys and queries differ."""
    return call.shape[2] != call.shape[3]


def is_in_parts(calls: Sequence[RecordedCall], softmaxes: Sequence[SeenSoftmax]) -> bool:
    """Whether a module's softmaxes make no whole map: by its calls, or as some are in no call."""
    if not softmaxes or not all(seen.followed for seen in softmaxes):
        return False
    if any(call.kind != "softmax" or call.cross for call in calls):
        return False
    kept = {id(call.attention.softmax) for call in calls}
    unseen = any(id(seen) not in kept for seen in softmaxes)
    return unseen or any(why_not_whole(call) or _asks_with_some(call) for call in calls)


def _asks_with_some(call: RecordedCall) -> bool:
    """Whether fewer tokens than it was given are queries."""
    n_queries, n_tokens = call.shape[2], n_tokens_in(call.given, call.shape[0])
    return is_uneven(call) and n_tokens is not None and n_queries < n_tokens


def _are_layers(calls: list[RecordedCall]) -> bool:
    """Whether parallel calls are each whole: layers of a model without modules."""
    if len({call.shape for call in calls}) > 1:
        return False
    return not any(is_uneven(call) or _why_not_of_tokens(call) for call in calls)


def _why_not_of_tokens(call: RecordedCall) -> str:
    n_samples, n_heads, n_queries, _ = call.shape
    n_tokens = n_tokens_in(call.given, n_samples)
    if n_tokens is None or call.cross:
        return ""
    if _heads_are_groups(call):
        return f"attends within groups of {n_queries:,} of its {n_tokens:,} tokens"
    if is_uneven(call):
        return _why_not_of_queries(call, n_tokens)
    if n_queries in lengths_in(call.given):
        return ""
    if call.attention.v.shape[-1] == n_tokens and n_heads * n_queries == call.given[0][-1]:
        return f"attends over {n_queries:,} channels, not over its {n_tokens:,} tokens"
    if n_queries < n_tokens:
        return f"attends within groups of {n_queries:,} of its {n_tokens:,} tokens"
    return ""


def _why_not_of_queries(call: RecordedCall, n_tokens: int) -> str:
    n_samples, _, n_queries, n_keys = call.shape
    if n_queries > n_tokens:
        return (
            f"has {counted(n_queries, 'row')} for {counted(n_tokens, 'token')}: heads that share "
            "their keys stand there as rows, as in decoding with a KV cache, or padding"
        )
    n_batch = math.prod(call.given[0][:-1]) // n_tokens
    if n_samples > n_batch and n_samples * n_queries == n_batch * n_tokens:
        return f"attends in blocks of {n_queries:,} of its {n_tokens:,} tokens, to {n_keys:,} keys"
    return ""


def _heads_are_groups(call: RecordedCall) -> bool:
    """Whether, with five or more axes, the third from last holds groups, judging by width."""
    width = call.shape[1] * call.attention.v.shape[-1]
    return call.attention.folded and width not in (0, call.given[0][-1])


def _sizes(calls: list[RecordedCall]) -> str:
    sizes = list(dict.fromkeys(f"{one.shape[2]:,} × {one.shape[3]:,}" for one in calls))
    more = ", …" if len(sizes) > FEW else ""
    return ", ".join(sizes[:FEW]) + more
