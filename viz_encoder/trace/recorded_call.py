"""RecordedCall: one attention call of a run, its module, and the hidden states around it."""

from dataclasses import dataclass, field

from jaxtyping import Int
from torch import Tensor

from viz_encoder.shown import counted
from viz_encoder.trace.attention_call import AttentionCall, CallKind, LaterCall, Shape
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
