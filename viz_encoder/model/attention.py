"""Attention: the weights as one explicit function, and the layer that runs torch's fused kernel.

`attention_weights` is the only place where weights are computed. The trace calls it to show a map;
the layer runs scaled_dot_product_attention, and the capture proof holds the two together.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from viz_encoder.config import EncoderConfig
from viz_encoder.model.masks import Mask
from viz_encoder.model.positions import rotate, spread

N_SIGNATURES = 2
# Replaces the heads' outputs "batch head query d_value" before W_O mixes them.
HeadEdit = Callable[[Tensor], Tensor]


class Given(NamedTuple):
    """Inputs of an attention layer besides the hidden states; None if absent."""

    mask: Mask | None = None
    angles: Float[Tensor, "token half"] | None = None  # by which queries and keys are turned
    relative: Float[Tensor, "head distance"] | None = None  # added to the scores
    edit: HeadEdit | None = None  # edits the heads' outputs before W_O
    queries: Int[Tensor, " query"] | None = None  # the only tokens that are wanted of the layer

    def of(self, queries: Int[Tensor, " query"]) -> "Given":
        """For a layer of which only these tokens are wanted."""
        rows = self.mask is not None and self.mask.shape[-2] > 1
        mask = self.mask[..., queries, :] if self.mask is not None and rows else self.mask
        return self._replace(mask=mask, queries=queries)


NOTHING = Given()


class Buffers(NamedTuple):
    """Preallocated buffers for a block's scores and weights."""

    scores: Float[Tensor, "head query key"]
    weights: Float[Tensor, "head query key"]


class LayerRecord(NamedTuple):
    """The tensors one attention layer ran on, enough to recompute any of its weights."""

    q: Float[Tensor, "batch head query d_head"]
    k: Float[Tensor, "batch kv_head key d_head"]
    v: Float[Tensor, "batch kv_head key d_value"]
    mask: Mask | None
    scale: float
    signature: Float[Tensor, "batch head query signature"]  # of the kernel's output
    relative: Float[Tensor, "head distance"] | None = None


def attention_weights(
    q: Float[Tensor, "*axes query d_head"],
    k: Float[Tensor, "*axes key d_head"],
    mask: Bool[Tensor, "*#axes #query #key"] | None = None,
    scale: float | None = None,
    bias: Float[Tensor, "*#axes #query #key"] | None = None,
    into: Buffers | None = None,
) -> Float[Tensor, "*axes query key"]:
    """softmax(q·kᵀ·scale + bias) over the allowed keys, in float32 at least.

    A query that may attend to nothing gets a row of zeros, as torch's fused kernels give it.
    With `into`, the same numbers are written there, without gradients; masked scores are −∞.
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    if into is not None:
        return _attention_weights_into(into, q.to(wide), k.to(wide), mask, scale, bias)
    # Scaled after the product: scaling q first would round every one of its entries.
    scores = q.to(wide) @ k.to(wide).mT
    scores *= scale  # in place: half the memory
    if bias is not None:
        scores = scores + bias
    if mask is None:
        return scores.softmax(dim=-1)
    weights = scores.masked_fill_(~mask, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)


def _attention_weights_into(
    into: Buffers, q: Tensor, k: Tensor, mask: Tensor | None, scale: float, bias: Tensor | None
) -> Tensor:
    """In-place version of the same steps."""
    scores = torch.baddbmm(into.scores, q, k.mT, beta=0, alpha=scale, out=into.scores)
    if bias is not None:
        scores += bias
    if mask is not None:
        scores.masked_fill_(~mask, -torch.inf)
    torch.softmax(scores, dim=-1, out=into.weights)
    if mask is not None:
        empty = ~mask.any(dim=-1, keepdim=True)
        if bool(empty.any()):
            into.weights.masked_fill_(empty, 0.0)
    return into.weights


def signs(d_value: int, like: Tensor) -> Float[Tensor, "d_value signature"]:
    """Fixed ±1 columns that condense a vector to a few numbers (Freivalds, 1977).

    Two vectors with equal signatures are equal but for an unlucky choice of signs, so a layer's
    output can be checked in every row and head without being kept.
    """
    return _signs(d_value, like.dtype, like.device)


@lru_cache(maxsize=64)
def _signs(d_value: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    generator = torch.Generator().manual_seed(1977)
    with torch.inference_mode(False):  # so that it may be used in any later run
        draws = torch.randint(0, 2, (d_value, N_SIGNATURES), generator=generator)
        # A CPU multiplies from the left with them in half the time if each column lies in a row.
        return (draws * 2 - 1).mT.contiguous().mT.to(device=device, dtype=dtype)


def sign_off(
    mixed: Float[Tensor, "batch head query d_value"],
) -> Float[Tensor, "batch head query signature"]:
    """Each head's output times its sign columns.

    The kernel wrote the heads side by side, so nothing is copied; with the narrow factor in front,
    a CPU takes half the time.
    """
    n_samples, n_heads, n_queries, d_value = mixed.shape
    rows = mixed.transpose(1, 2).reshape(n_samples * n_queries * n_heads, d_value)
    condensed = signs(d_value, mixed).mT @ rows.mT
    return condensed.view(N_SIGNATURES, n_samples, n_queries, n_heads).permute(1, 3, 2, 0)


def split_heads(
    x: Float[Tensor, "batch token d_model"], n_heads: int
) -> Float[Tensor, "batch {n_heads} token d_head"]:
    """Cut d_model into heads and bring the head axis forward."""
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge_heads(
    x: Float[Tensor, "batch head token d_head"],
) -> Float[Tensor, "batch token d_model"]:
    """Put the heads back side by side."""
    return x.transpose(1, 2).flatten(-2)


class SelfAttention(nn.Module):
    """Multi-head self-attention (Vaswani et al., 2017, arXiv:1706.03762)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.n_heads, self.dropout = config.n_heads, config.dropout
        self.scale = 1 / math.sqrt(config.d_head) if config.scale is None else config.scale
        d_model, inner = config.d_model, config.n_heads * config.d_head
        self.q = nn.Linear(d_model, inner, bias=config.has_bias("q"))
        self.k = nn.Linear(d_model, inner, bias=config.has_bias("k"))
        self.v = nn.Linear(d_model, inner, bias=config.has_bias("v"))
        self.o = nn.Linear(inner, d_model, bias=config.has_bias("o"))

    def forward(
        self,
        x: Float[Tensor, "batch token d_model"],
        given: Given = NOTHING,
        records: list[LayerRecord] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Mix the values of the tokens that each token may attend to; add to records if given."""
        q, k, v = self.project(x, given)
        mixed = self.mix(q, k, v, given)
        if records is not None:
            signature = sign_off(mixed.detach())  # no gradient is asked of it
            records.append(LayerRecord(q, k, v, given.mask, self.scale, signature, given.relative))
        if given.edit is not None:
            mixed = given.edit(mixed)
        return self.out(mixed)

    def project(
        self, x: Float[Tensor, "batch token d_model"], given: Given
    ) -> tuple[
        Float[Tensor, "batch head query d_head"],
        Float[Tensor, "batch head token d_head"],
        Float[Tensor, "batch head token d_value"],
    ]:
        """Queries, keys and values of the tokens, turned to their positions."""
        asked, angles = x, given.angles
        if given.queries is not None:
            asked = x[:, given.queries]
            angles = None if angles is None else angles[given.queries]
        q = split_heads(self.q(asked), self.n_heads)
        k = split_heads(self.k(x), self.n_heads)
        v = split_heads(self.v(x), self.n_heads)
        if given.angles is None or angles is None:
            return q, k, v
        return rotate(q, angles), rotate(k, given.angles), v

    def out(
        self, mixed: Float[Tensor, "batch head token d_value"]
    ) -> Float[Tensor, "batch token d_model"]:
        """W_O: what the heads give, put side by side and mixed."""
        return self.o(merge_heads(mixed))

    def mix(self, q: Tensor, k: Tensor, v: Tensor, given: Given) -> Tensor:
        """softmax(q·kᵀ·scale + relative) · v over the allowed keys, by torch's fused kernel."""
        dropout, mask = self.dropout if self.training else 0.0, given.mask
        attend = partial(F.scaled_dot_product_attention, dropout_p=dropout, scale=self.scale)
        if given.relative is None:
            return attend(q, k, v, attn_mask=mask)
        every = torch.arange(q.shape[2], device=q.device)
        bias = spread(given.relative, every if given.queries is None else given.queries)[None]
        if mask is None:
            return attend(q, k, v, attn_mask=bias)
        bias = bias.masked_fill(~mask, -torch.inf)
        mixed = attend(q, k, v, attn_mask=bias)
        return mixed.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
