"""RecordedCall: one attention call, its module, and the hidden states around it and given to it."""

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
