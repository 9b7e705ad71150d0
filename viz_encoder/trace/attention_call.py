"""AttentionCall: copies of the tensors one attention call ran on."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.model.attention import sign_off
from viz_encoder.model.masks import Mask
from viz_encoder.trace.callers_state import same_bits
from viz_encoder.trace.mask_parsing import Bias, SplitMask
from viz_encoder.trace.softmax import SeenSoftmax

CallKind = Literal["sdpa", "multi_head_attention", "flex_attention", "softmax"]
Shape = tuple[int, int, int, int]  # samples, heads, queries, keys


class AttentionCall(NamedTuple):
    """One attention call of a whole batch; with a softmax of its own, maps instead of q and k."""

    kind: CallKind
    q: Float[Tensor, "batch head query d_head"]
    k: Float[Tensor, "batch kv_head key d_head"]
    v: Float[Tensor, "batch kv_head key d_value"]
    scale: float = 1.0
    mask: Mask | None = None
    bias: Bias | None = None
    maps: Float[Tensor, "batch head query key"] | None = None
    signature: Float[Tensor, "batch head query signature"] | None = None
    sink: Float[Tensor, "batch head query"] | None = None  # weight the softmax gave to no key
    dropout: float = 0.0
    cross: bool | None = None  # None: cannot be told from the call alone
    kernel: str = "unknown"
    softmax: SeenSoftmax | None = None  # the softmax that gave the maps, if called on its own
    folded: bool = False  # whether more than two axes precede "query"
    ragged: bool = False  # came as a nested tensor, without padding
    note: str = ""

    @property
    def shape(self) -> Shape:
        """Samples, heads, queries, keys."""
        n_samples, n_heads, n_queries, _ = self.q.shape
        return n_samples, n_heads, n_queries, self.k.shape[2]

    def transposed(self) -> "AttentionCall":
        """Swap the sample and head axes."""
        turned = (x.transpose(0, 1) if isinstance(x, Tensor) else x for x in self)
        return AttentionCall._make(turned)


class LaterCall:
    """A call whose queries and keys are recomputed on first access."""

    def __init__(self, kind: CallKind, shape: Shape, compute: Callable[[], AttentionCall]) -> None:
        """`compute` runs once, on the inputs kept for it."""
        self.kind, self.shape = kind, shape
        self._compute: Callable[[], AttentionCall] | None = compute

    @cached_property
    def whole(self) -> AttentionCall:
        """Return the call with its queries and keys, and release the inputs they came from."""
        assert self._compute is not None
        call, self._compute = self._compute(), None
        return call


class LastCopy:
    """Copies tensors; one that comes again unchanged, as in each layer, is copied only once."""

    def __init__(self) -> None:
        self._last: tuple[Tensor, Tensor] | None = None

    def of(self, x: Tensor) -> Tensor:
        """Copy a tensor; nested tensors are padded with 0."""
        if x.is_nested:
            return padded(x)
        if self._last is not None and self._last[0] is x and same_bits(self._last[1], x):
            return self._last[1]  # not changed in place since
        self._last = (x, own_copy(x))
        return self._last[1]

    def forget(self) -> None:
        """Release the last copy."""
        self._last = None


def padded(x: Tensor) -> Tensor:
    """Pad a nested tensor with 0; return any other as is."""
    return x.detach().to_padded_tensor(0.0) if x.is_nested else x


def own_copy(x: Tensor) -> Tensor:
    """Copy into its own storage: q, k and v are usually views that would pin a larger buffer."""
    return x.detach().clone(memory_format=torch.contiguous_format)


def batch_and_heads(x: Tensor) -> Tensor:
    """Reshape to "batch head token d": add missing axes, fold leading ones into the batch."""
    if x.ndim == 4:
        return x
    if x.ndim == 3:
        return x[:, None]
    while x.ndim < 4:
        x = x[None]
    return x.flatten(0, x.ndim - 4)


def widely_signed(mixed: Tensor) -> Float[Tensor, "batch head query signature"]:
    """Signature of an attention call's output, in float32 or wider."""
    return sign_off(mixed.detach().to(torch.promote_types(mixed.dtype, torch.float32)))


def from_tensors(
    kind: CallKind,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mixed: Tensor,
    split: SplitMask,
    scale: float | None,
) -> AttentionCall:
    """Build the call from scaled_dot_product_attention's tensors, with any number of axes."""
    return AttentionCall(
        kind,
        own_copy(batch_and_heads(q)),
        own_copy(batch_and_heads(k)),
        own_copy(batch_and_heads(v)),
        scale=1 / math.sqrt(q.shape[-1]) if scale is None else scale,
        mask=split.mask,
        bias=split.bias,
        signature=widely_signed(batch_and_heads(mixed)),
        folded=q.ndim > 4,
    )


def from_maps(
    maps: Tensor, v: Tensor | None, mixed: Tensor | None, sink: Tensor | None = None
) -> AttentionCall:
    """Build the call from a softmax result and the values it was multiplied by."""
    lead, folded = tuple(maps.shape[:-2]), maps.ndim > 4
    sink = None if sink is None else batch_and_heads(sink[..., None])[..., 0]
    maps = own_copy(batch_and_heads(maps))
    no_queries = maps.new_zeros(*maps.shape[:3], 0)
    no_keys = maps.new_zeros(*maps.shape[:2], maps.shape[3], 0)
    if (
        v is None
        or mixed is None
        or mixed.numel() != math.prod(lead) * maps.shape[-2] * v.shape[-1]
    ):
        return AttentionCall(
            "softmax", no_queries, no_keys, no_keys, maps=maps, sink=sink, folded=folded
        )
    v = v.expand(*mixed.shape[:-2], *v.shape[-2:]).reshape(*lead, *v.shape[-2:])
    mixed = mixed.reshape(*lead, *mixed.shape[-2:])
    return AttentionCall(
        "softmax",
        no_queries,
        no_keys,
        own_copy(batch_and_heads(v)),
        maps=maps,
        sink=sink,
        folded=folded,
        signature=widely_signed(batch_and_heads(mixed)),
    )
