"""Correct models: what an audit must pass without a word, in many writings and types."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention.flex_attention import BlockMask, create_block_mask

from viz_encoder.audit.arguments import AuditScope
from viz_encoder.audit.zoo.models import (
    D_MODEL,
    N_HEADS,
    Around,
    Heads,
    drawn,
    flex,
    scores_of,
    sdpa,
    torch_encoder,
    written_out,
)
from viz_encoder.audit.zoo.specimen import (
    Intent,
    MaskedModel,
    Valid,
    built,
    earlier_tokens,
    last_tokens,
    neighbors,
    own_document,
    real_tokens,
)
from viz_encoder.config import Embedding, EncoderConfig
from viz_encoder.model import Encoder
from viz_encoder.model.pooling import mean

Correct = dict[str, Callable[[int], MaskedModel]]  # by name, what makes it of a seed


def _multihead_padding(layer: nn.MultiheadAttention, x: Tensor, ignore: Tensor) -> Tensor:
    return layer(x, x, x, key_padding_mask=ignore)[0]


def _multihead_mask(layer: nn.MultiheadAttention, x: Tensor, mask: Tensor) -> Tensor:
    return layer(x, x, x, attn_mask=mask, need_weights=False)[0]


def _multihead_sink(layer: nn.MultiheadAttention, x: Tensor, ignore: Tensor) -> Tensor:
    layer.add_zero_attn = True
    return layer(x, x, x, key_padding_mask=ignore)[0]


def _future(valid: Valid) -> Tensor:
    n_tokens = valid.shape[1]
    return torch.ones(n_tokens, n_tokens, dtype=torch.bool).triu(1)


def _future_added(valid: Valid) -> Tensor:
    return torch.zeros(_future(valid).shape).masked_fill(_future(valid), -torch.inf)


def _block_mask(valid: Valid) -> BlockMask:
    allowed, (n_samples, n_tokens) = earlier_tokens(valid), valid.shape
    sizes = (n_samples, None, n_tokens, n_tokens)
    return create_block_mask(lambda b, h, q, k: allowed[b, q, k], *sizes, valid.device)


def _per_head(valid: Valid) -> Tensor:
    return (~earlier_tokens(valid)).repeat_interleave(N_HEADS, dim=0)


def _encoder_padding(encoder: nn.TransformerEncoder, x: Tensor, ignore: Tensor) -> Tensor:
    return encoder(x, src_key_padding_mask=ignore)


def _encoder_mask(encoder: nn.TransformerEncoder, x: Tensor, ignore: Tensor) -> Tensor:
    return encoder(x, mask=ignore)


def _encoder_both(encoder: nn.TransformerEncoder, x: Tensor, both: Any) -> Tensor:
    return encoder(x, mask=both[0], src_key_padding_mask=both[1])


def _by_hand(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    return scores_of(q, k).masked_fill(~passed[:, None], -torch.inf).softmax(-1) @ v


def _by_hand_saturated(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    lowest = torch.finfo(q.dtype).min
    return scores_of(q, k).masked_fill(~passed[:, None], lowest).softmax(-1) @ v


def _ours(
    seed: int, intent: Intent | list[Intent], dtype: torch.dtype = torch.float32, **axes: Any
) -> MaskedModel:
    """Our own encoder on vectors, which is passed valid."""
    sizes = {"n_layers": 2, "n_heads": N_HEADS, "d_model": D_MODEL, "d_ff": 2 * D_MODEL}
    config = EncoderConfig.from_axes(
        {**sizes, "embedding": Embedding.VECTOR, "max_positions": 128, **axes}
    )

    def forward(self: Any, x: Tensor, valid: Tensor) -> Tensor:
        return self.inner(x, valid=valid).output

    model = drawn(seed, lambda: Around(Encoder(config), forward)).to(dtype)
    return MaskedModel(model, intent, lambda valid: valid, n_layers=config.n_layers)


def _ignored(valid: Valid) -> Tensor:
    return ~valid


def _both(valid: Valid) -> tuple[Tensor, Tensor]:
    return _future(valid), ~valid


def _torch(seed: int, **how: bool) -> MaskedModel:
    model = torch_encoder(seed, _encoder_padding, **how)
    return MaskedModel(model, real_tokens, _ignored)


CORRECT: Correct = {
    "nn.MultiheadAttention, padding": partial(built, _multihead_padding, passed=_ignored),
    "nn.MultiheadAttention, causal": partial(
        built, _multihead_mask, intent=earlier_tokens, passed=_future
    ),
    "nn.MultiheadAttention, causal as -inf": partial(
        built, _multihead_mask, intent=earlier_tokens, passed=_future_added
    ),
    "nn.MultiheadAttention, a mask a head": partial(
        built, _multihead_mask, intent=earlier_tokens, passed=_per_head
    ),
    "nn.MultiheadAttention, add_zero_attn": partial(built, _multihead_sink, passed=_ignored),
    "nn.TransformerEncoder, padding": partial(built, _encoder_padding, passed=_ignored),
    "nn.TransformerEncoder, nested tensors": lambda s: _torch(s, nested=True),
    "nn.TransformerEncoder, norm first": lambda s: _torch(s, norm_first=True),
    "nn.TransformerEncoder, causal": partial(
        built, _encoder_mask, intent=earlier_tokens, passed=_future
    ),
    "nn.TransformerEncoder, causal and padding": partial(
        built, _encoder_both, intent=earlier_tokens, passed=_both
    ),
    "written out, -inf": partial(built, _by_hand, intent=earlier_tokens),
    "written out, finfo.min": partial(built, _by_hand_saturated, intent=earlier_tokens),
    "sdpa, padding": partial(built, sdpa),
    "sdpa, window": partial(built, sdpa, intent=neighbors(2)),
    "sdpa, packed documents": partial(
        built, sdpa, intent=own_document(4, causal=True), scope=AuditScope(documents=True)
    ),
    "sdpa, mean of real tokens": partial(built, mean),
    "sdpa, bfloat16": lambda s: MaskedModel(written_out(s, sdpa).bfloat16(), earlier_tokens),
    "viz_encoder, post-norm": lambda s: _ours(s, real_tokens),
    "viz_encoder, pre-norm": lambda s: _ours(s, real_tokens, norm_placement="pre", final_norm=True),
    "viz_encoder, causal": lambda s: _ours(s, earlier_tokens, causal=True),
    "viz_encoder, rotary and relative": lambda s: _ours(
        s, real_tokens, positions="none", rotary_base=100.0, relative_buckets=8
    ),
    "viz_encoder, window in layer 1 only": lambda s: _ours(
        s, [real_tokens, neighbors(2)], window=2, global_layers=(0,)
    ),
    "viz_encoder, bfloat16": lambda s: _ours(s, real_tokens, torch.bfloat16, positions="none"),
    "flex_attention, a BlockMask of each sample": partial(
        built, flex, intent=earlier_tokens, passed=_block_mask
    ),
    "sdpa, causal window": partial(built, sdpa, intent=last_tokens(3)),
}
