"""RecordedCall: one attention call, its module and hidden states; whether its maps are whole."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from viz_encoder.shown import counted
from viz_encoder.trace.attention_call import AttentionCall, CallKind, LaterCall, Shape
from viz_encoder.trace.callers_state import is_freed
from viz_encoder.trace.kept_weights import KeptNorm, KeptPart
from viz_encoder.trace.softmax import SeenSoftmax


@dataclass(eq=False)
class RecordedCall:
    """One attention call, its module, and the hidden states around its block."""

    name: str
    run: int  # index of the recorded module's call
    ran: AttentionCall | LaterCall
    cross: bool = False
    given: tuple[tuple[int, ...], ...] = ()  # sizes of the sequences its module was given
    beside: "list[RecordedCall]" = field(default_factory=list, repr=False)  # in the same pass
    in_block: bool = False  # whether the enclosing block has ended
    before: Tensor | None = field(default=None, repr=False)
    after: Tensor | None = field(default=None, repr=False)
    normed: Tensor | None = field(default=None, repr=False)  # after the final norm
    block: str = ""
    batch_first: bool = True
    part: KeptPart | None = field(default=None, repr=False)  # torch's own module it belongs to
    norm: KeptNorm | None = field(default=None, repr=False)  # the norm that gave `normed`
    window: tuple[int, int] | None = None  # rows and columns, where a block around it cuts windows
    order: Int[Tensor, "window place"] | None = field(default=None, repr=False)  # tokens by window
    parts: "list[RecordedCall] | None" = field(default=None, repr=False)  # that this puts together

    @property
    def attention(self) -> AttentionCall:
        """The tensors the call ran on.

        Raises:
            TraceError: a fused kernel's inputs are recomputed only now, and its weights have
                changed.
        """
        return self.ran.whole if isinstance(self.ran, LaterCall) else self.ran

    def unfold_heads(self) -> None:
        """Unfold the single sample's heads from the batch axis."""
        n_samples, n_heads, n_queries, _ = self.shape
        alone = [sizes for sizes in self.given if len(sizes) == 3 and sizes[0] == 1]
        if isinstance(self.ran, LaterCall) or n_heads > 1 or not alone:
            return
        width = n_samples * self.ran.v.shape[-1]
        if n_samples > 1 and alone[0][1:] == (n_queries, width):
            self.ran = self.ran.transposed()

    @property
    def kind(self) -> CallKind:
        """How it was computed; "softmax" is the model's own, whose maps are kept as they ran."""
        return self.ran.kind

    @property
    def dropout(self) -> float:
        """Active dropout rate: the share of weights set to 0 in the map that ran."""
        return 0.0 if isinstance(self.ran, LaterCall) else self.ran.dropout

    @property
    def fused(self) -> bool:
        """Whether a fused torch layer ran, whose internals were recomputed."""
        return isinstance(self.ran, LaterCall) and self.parts is None

    @property
    def shape(self) -> Shape:
        """Samples, heads, queries, keys."""
        return self.ran.shape

    def __repr__(self) -> str:
        """One line: name, kind, sizes and anything special."""
        n_samples, n_heads, n_queries, n_keys = self.shape
        special = [word for word in ("cross", "fused") if getattr(self, word)]
        special += [f"dropout {self.dropout:g}"] if self.dropout else []
        counts = f"{counted(n_samples, 'sample')}, {counted(n_heads, 'head')}"
        sizes = f"{counts}, {n_queries} × {n_keys}"
        return f"<{self.name}: {self.kind}, {', '.join([sizes, *special])}>"


SequenceLengths = tuple[int, ...]


def sequences_in(arguments: Sequence[Any]) -> list[Tensor]:
    """Arguments that can be hidden states, or heads of them."""
    floats = (x for x in arguments if isinstance(x, Tensor) and x.is_floating_point())
    return [x for x in floats if not x.is_nested and 2 <= x.ndim <= 5]


def is_given_heads(call: Shape, given: Sequence[Tensor]) -> bool:
    """Whether the module was given queries already split into heads.

    If so, the enclosing module shows which sequence they come from.
    """
    n_samples, n_heads, n_queries, _ = call
    heads = (n_samples, n_heads, n_queries), (n_samples, n_queries, n_heads)
    return bool(given) and given[0].ndim == 4 and given[0].shape[:3] in heads


def is_cross(call: RecordedCall, fed: Collection[int], given: Sequence[Tensor]) -> bool:
    """Whether keys come from a different sequence than the queries.

    If their lengths differ, the arguments show it, even with cached keys and values. If they are
    equal, two of the arguments were projected by modules that were `fed` them. Position tables and
    parts of a concatenated sequence have other lengths.
    """
    if isinstance(call.ran, LaterCall):
        return False
    if call.ran.cross is not None:
        return call.ran.cross
    n_queries, n_keys = call.shape[2:]
    if n_queries != n_keys:
        pairs = combinations([x.shape[:-1] for x in given], 2)
        return any(_differ_in({n_queries, n_keys}, *pair) for pair in pairs)
    rows = [x for x in given if x.ndim <= 3 and n_keys in x.shape[:-1]]
    projected = {id(x): x.ndim for x in rows if id(x) in fed}
    widest = max(projected.values(), default=0)  # position tables have fewer axes
    if list(projected.values()).count(widest) < 2:
        return False
    return not _is_same(rows[0], rows[1])  # otherwise only the values come from elsewhere


def _differ_in(lengths: set[int], a: SequenceLengths, b: SequenceLengths) -> bool:
    """Whether they differ only in one axis, where they have these lengths."""
    if len(a) != len(b):
        return False
    apart = [{x, y} for x, y in zip(a, b, strict=True) if x != y]
    return apart == [lengths]


def _is_same(a: Tensor, b: Tensor) -> bool:
    if a is b or a.shape != b.shape or is_freed(a) or is_freed(b):
        return a is b
    return torch.equal(a, b)


def n_tokens_in(given: Sequence[SequenceLengths], n_samples: int) -> int | None:
    """Token count of the first sequence, as far as its axes tell."""
    wide = [sizes for sizes in given if len(sizes) > 2] or list(given)
    if not wide:
        return None
    first = wide[0]
    if len(first) == 2:
        return first[0]
    if len(first) == 3:
        batch, length, _ = first
        if length == n_samples != batch > 1:  # sequence first
            return batch
        return length if batch in (1, n_samples) else max(batch, length)
    return min(math.prod(first[-3:-1]), math.prod(first[-2:]))  # rows and columns of an image


def lengths_in(given: Sequence[SequenceLengths]) -> set[int]:
    """Possible token counts: the size of one axis, or of several merged."""
    return {
        math.prod(sizes[start:end])
        for sizes in given
        for start, end in combinations(range(len(sizes) + 1), 2)
    }


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
    return is_uneven(call) and call.shape[2] < (n_tokens_in(call.given, call.shape[0]) or 0)


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
