"""LayerTrace: the tensors one attention layer ran on; computes any part of its maps from them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viz_encoder.errors import SelectionError
from viz_encoder.model.attention import Buffers, attention_weights
from viz_encoder.model.positions import spread
from viz_encoder.shown import OneLine
from viz_encoder.trace.head_rows import row_blocks

BLOCK_BYTES = 64 * 2**20  # weights held at once when a map is processed in blocks
Rows = slice | Int[Tensor, " query"]
# A layer's tensor fields; all but the first three may be None.
TENSORS = ("q", "k", "v", "mask", "bias", "signature", "maps", "relative", "sink", "put")


@dataclass(frozen=True)
class Origin:
    """Which model ran on what, shown beside every map."""

    model: str
    device: str = "cpu"
    dtype: str = "float32"
    kernel: str = "unknown"  # the attention kernel that torch chose
    revision: str = ""  # commit of a Hub model
    weights: str = ""  # "untrained" if they are random
    heads: str = ""  # digest of a sample of the prediction heads' weights; "" if unknown


@dataclass(frozen=True, eq=False, repr=False)
class LayerTrace(OneLine):
    """One attention layer of one sequence; grouped-query layers have fewer kv_heads than heads."""

    q: Float[Tensor, "head query d_head"]
    k: Float[Tensor, "kv_head key d_head"]
    v: Float[Tensor, "kv_head key d_value"]
    scale: float
    mask: Bool[Tensor, "#head #query #key"] | None = None  # True = may attend; None = no mask
    bias: Float[Tensor, "#head #query #key"] | None = None  # added to the scores
    signature: Float[Tensor, "head query signature"] | None = None  # of the layer's real output
    name: str = ""
    cross: bool = False  # keys and queries are different tokens
    maps: Float[Tensor, "head query key"] | None = None  # kept as they ran; q, k have d_head 0
    relative: Float[Tensor, "head distance"] | None = None  # added to the scores, by key − query
    sink: Float[Tensor, "head query"] | None = None  # weight the softmax gave to no key
    put: Float[Tensor, "head query d_value"] | None = None  # input to W_O during an ablation

    @property
    def n_heads(self) -> int:
        """Number of query heads, which equals the number of maps."""
        return self.q.shape[0]

    def weights(
        self,
        heads: slice,
        rows: Rows,
        keys: Float[Tensor, "head key d_head"] | None = None,
        into: Buffers | None = None,
    ) -> Float[Tensor, "head query key"]:
        """Maps of some heads and rows, in float32 or wider.

        To compute many blocks, pass `keys` from `keys_of(heads)`, and `into`, the buffers for
        scores and weights. Maps stored by the run are returned as is.
        """
        if self.maps is not None:
            kept = self.maps[heads, rows]
            return kept.to(torch.promote_types(kept.dtype, torch.float32))
        mask, bias = _part(self.mask, heads, rows), _part(self.bias, heads, rows)
        with torch.no_grad():
            q, k = self.q[heads, rows], self._keys(heads) if keys is None else keys
            if self.relative is not None:
                queries = torch.arange(len(self.q[0]), device=self.q.device)[rows]
                relative = spread(self.relative[heads], queries)
                bias = relative if bias is None else bias + relative
            return attention_weights(q, k, mask, self.scale, bias, into)

    def fused(self, heads: Sequence[int], by: str, rows: Rows) -> Float[Tensor, "query key"]:
        """The mean of some heads' maps or, by "max", their maximum; never all of them at once."""
        each = (self.weights(slice(head, head + 1), rows)[0] for head in heads)
        if by == "max":
            return reduce(torch.maximum, each)
        return reduce(torch.add, each) / len(heads)

    @property
    def wide(self) -> torch.dtype:
        """Dtype of the maps: the run's own, but at least float32."""
        ran = self.q if self.maps is None else self.maps
        return torch.promote_types(ran.dtype, torch.float32)

    def keys_of(self, heads: slice) -> Float[Tensor, "head key d_head"]:
        """Keys of some query heads, converted and laid out once for many blocks of rows."""
        return self._keys(heads).to(self.wide).mT.contiguous().mT

    def blocks(self, heads: slice) -> Iterator[tuple[slice, Float[Tensor, "head query key"]]]:
        """Iterate over the maps of some heads in blocks of rows, never whole, at any length."""
        n_queries, n_keys = self.q.shape[1], self.k.shape[1]
        n_heads = len(range(*heads.indices(self.n_heads)))
        for rows in row_blocks(n_queries, n_heads * n_keys, BLOCK_BYTES):
            yield rows, self.weights(heads, rows)

    def values_of(self, heads: slice) -> Float[Tensor, "head key d_value"]:
        """Values of some query heads, repeated where query heads share them."""
        return self._of_heads(self.v, heads)

    def _keys(self, heads: slice) -> Float[Tensor, "head key d_head"]:
        return self._of_heads(self.k, heads)

    def _of_heads(self, shared: Float[Tensor, "kv_head key d"], heads: slice) -> Tensor:
        """Those of some query heads, repeated where query heads share a key head."""
        group = self.n_heads // shared.shape[0]
        if group == 1:
            return shared[heads]
        return shared[torch.arange(self.n_heads, device=shared.device)[heads] // group]


def _part(x: Tensor | None, heads: slice, rows: Rows) -> Tensor | None:
    """Slice a broadcasting "#head #query #key" tensor to the given heads and rows."""
    if x is None:
        return None
    x = x[heads] if x.shape[0] > 1 else x
    return x[:, rows] if x.shape[1] > 1 else x


def received(
    layer: LayerTrace, valid: Bool[Tensor, " token"] | None = None
) -> Float[Tensor, " token"]:
    """Mean over the heads and the valid queries of the weight on each key.

    Raises:
        SelectionError: the keys are other tokens than the queries.
    """
    if layer.cross:
        raise SelectionError(
            "These keys are other tokens than the queries, so the tokens received no attention; "
            "choose self-attention."
        )
    n_queries = layer.q.shape[1]
    asked = torch.ones(n_queries, device=layer.q.device) if valid is None else valid
    asked = asked.to(layer.q.device, layer.wide)
    total = asked.new_zeros(layer.k.shape[1])
    for rows, weights in layer.blocks(slice(0, layer.n_heads)):
        total += asked[rows] @ weights.sum(dim=0)
    return total / (asked.sum() * layer.n_heads)
