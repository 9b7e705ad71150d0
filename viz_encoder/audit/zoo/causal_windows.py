"""Section D: causal masks, windows and packed documents."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_encoder.audit.arguments import AuditScope
from viz_encoder.audit.zoo.models import Heads, multihead
from viz_encoder.audit.zoo.specimen import (
    Valid,
    earlier_tokens,
    last_tokens,
    neighbors,
    own_document,
    plant,
    real_tokens,
)


def _ignoring(layer: nn.MultiheadAttention, x: Tensor, ignore: Tensor) -> Tensor:
    return layer(x, x, x, attn_mask=ignore)[0]


@plant(
    "D1-triu-0",
    wrong="ones.triu(diagonal=0)",
    right="ones.triu(diagonal=1)",
    flagged_by="runs",
    intent=earlier_tokens,
    taker=lambda seed: multihead(seed, _ignoring),
)
def itself_left_out(valid: Valid) -> Tensor:
    """Off by one toward the past."""
    ones = torch.ones(valid.shape[1], valid.shape[1], dtype=torch.bool)
    return ones.triu(diagonal=0)


@plant(
    "D1-triu-2",
    wrong="ones.triu(diagonal=2)",
    right="ones.triu(diagonal=1)",
    intent=earlier_tokens,
    taker=lambda seed: multihead(seed, _ignoring),
)
def next_one_seen(valid: Valid) -> Tensor:
    """Off by one toward the future."""
    ones = torch.ones(valid.shape[1], valid.shape[1], dtype=torch.bool)
    return ones.triu(diagonal=2)


@plant(
    "D2-hint",
    wrong="attn_mask=ignore, need_weights=False, is_causal=True",
    right="attn_mask=ignore, need_weights=False",
    flagged_by="grad_mode",
    intent=last_tokens(3),
    passed=lambda valid: ~last_tokens(3)(torch.ones_like(valid[:1]))[0],
)
def window_overridden(layer: nn.MultiheadAttention, x: Tensor, ignore: Tensor) -> Tensor:
    """A causal window of three keys, and the hint."""
    return layer(x, x, x, attn_mask=ignore, need_weights=False, is_causal=True)[0]


@plant(
    "D3-corner",
    wrong="q[:, :, start:stop], k[:, :, :stop], v[:, :, :stop], is_causal=True",
    right="q[:, :, start:stop], k[:, :, :stop], v[:, :, :stop], attn_mask=keep",
    intent=earlier_tokens,
)
def wrong_corner(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """Queries in chunks of three, keys up to there."""
    mixed, sdpa = [], F.scaled_dot_product_attention
    for start in range(0, q.shape[2], 3):
        stop = min(start + 3, q.shape[2])
        keep = torch.ones(stop - start, stop, dtype=torch.bool).tril(diagonal=start)
        part = sdpa(q[:, :, start:stop], k[:, :, :stop], v[:, :, :stop], is_causal=True)
        mixed.append(part)
    return torch.cat(mixed, dim=2)


@plant(
    "D4-no-longer-causal",
    wrong="attn_mask=keep[:, None], is_causal=False",
    right="attn_mask=(keep & keep.new_ones(keep.shape).tril())[:, None]",
    intent=earlier_tokens,
    passed=real_tokens,
)
def causality_dropped(q: Heads, k: Heads, v: Heads, keep: Tensor) -> Heads:
    """A padding mask takes the causal one's place."""
    sdpa = F.scaled_dot_product_attention
    if bool(keep.all()):
        return sdpa(q, k, v, is_causal=True)
    return sdpa(q, k, v, attn_mask=keep[:, None], is_causal=False)


@plant(
    "D5-one-too-many",
    wrong="(query - key) <= 3",
    right="(query - key) < 3",
    intent=last_tokens(3),
    scope=AuditScope(window=3),
)
def one_key_too_many(valid: Valid) -> Tensor:
    """A causal window of three keys, itself counted."""
    position = torch.arange(valid.shape[1])
    query, key = position[:, None], position[None, :]
    return earlier_tokens(valid) & ((query - key) <= 3)


@plant(
    "D5-one-too-few",
    wrong="(query - key) < 3 - 1",
    right="(query - key) < 3",
    intent=last_tokens(3),
    scope=AuditScope(window=3),
)
def one_key_too_few(valid: Valid) -> Tensor:
    """A causal window that counts itself twice."""
    position = torch.arange(valid.shape[1])
    query, key = position[:, None], position[None, :]
    return earlier_tokens(valid) & ((query - key) < 3 - 1)


@plant(
    "D5-one-side",
    wrong="((query - key) <= 2) & (query >= key)",
    right="((query - key).abs() <= 2)",
    intent=neighbors(2),
)
def half_a_window(valid: Valid) -> Tensor:
    """Two neighbors on either side were meant."""
    position = torch.arange(valid.shape[1])
    query, key = position[:, None], position[None, :]
    return real_tokens(valid) & ((query - key) <= 2) & (query >= key)


@plant(
    "D6-packed",
    wrong="return earlier_tokens(valid)",
    right="return earlier_tokens(valid) & same_document",
    intent=own_document(4, causal=True),
    scope=AuditScope(documents=True),
)
def documents_leak(valid: Valid) -> Tensor:
    """Two documents in a row, four tokens each."""
    number = torch.arange(valid.shape[1]) // 4
    same_document = number[:, None] == number[None, :]
    return earlier_tokens(valid)
