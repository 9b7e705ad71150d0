"""RecordedCall: one attention call of a run, where it happened, and the hidden states around it."""

from dataclasses import dataclass, field

from torch import Tensor

from viz_encoder.trace.attention_call import AttentionCall, Kind, LaterCall, Shape
from viz_encoder.trace.kept_weights import KeptNorm, KeptPart


@dataclass(eq=False)
class RecordedCall:
    """One attention call, where it happened, and the hidden states around its block."""

    name: str
    run: int  # which call of the recorded module, from 0
    ran: AttentionCall | LaterCall
    cross: bool = False
    given: tuple[tuple[int, ...], ...] = ()  # sizes of the sequences that its module was given
    beside: "list[RecordedCall]" = field(default_factory=list, repr=False)  # in the same pass of it
    in_block: bool = False  # whether the block that it is in has ended
    before: Tensor | None = field(default=None, repr=False)
    after: Tensor | None = field(default=None, repr=False)
    normed: Tensor | None = field(default=None, repr=False)  # after the norm that follows it all
    block: str = ""
    batch_first: bool = True
    part: KeptPart | None = field(default=None, repr=False)  # torch's own module that it is of
    norm: KeptNorm | None = field(default=None, repr=False)  # that gave `normed`

    @property
    def attention(self) -> AttentionCall:
        """What the call ran on.

        Raises:
            TraceError: what a fused kernel ran on is computed now, and its weights have changed.
        """
        return self.ran.whole if isinstance(self.ran, LaterCall) else self.ran

    def unfold_heads(self) -> None:
        """Give the only sample its heads, where they were folded into the batch."""
        n_samples, n_heads, n_queries, _ = self.shape
        alone = [sizes for sizes in self.given if len(sizes) == 3 and sizes[0] == 1]
        if isinstance(self.ran, LaterCall) or n_heads > 1 or not alone:
            return
        width = n_samples * self.ran.v.shape[-1]
        if n_samples > 1 and alone[0][1:] == (n_queries, width):
            self.ran = self.ran.transposed()

    @property
    def kind(self) -> Kind:
        """By what it was done: "softmax" is a model's own, and its maps are kept as they were."""
        return self.ran.kind

    @property
    def dropout(self) -> float:
        """The dropout that was on: the map that ran had this part of its weights set to 0."""
        return 0.0 if isinstance(self.ran, LaterCall) else self.ran.dropout

    @property
    def fused(self) -> bool:
        """Whether one of torch's fused layer kernels ran, whose insides were computed again."""
        return isinstance(self.ran, LaterCall)

    @property
    def shape(self) -> Shape:
        """Samples, heads, queries, keys."""
        return self.ran.shape

    def __repr__(self) -> str:
        """One line: name, kind, sizes and what is special about it."""
        n_samples, n_heads, n_queries, n_keys = self.shape
        special = [word for word in ("cross", "fused") if getattr(self, word)]
        special += [f"dropout {self.dropout:g}"] if self.dropout else []
        sizes = f"{n_samples} samples, {n_heads} heads, {n_queries} × {n_keys}"
        return f"<{self.name}: {self.kind}, {', '.join([sizes, *special])}>"
