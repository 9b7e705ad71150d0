"""Section H, further: cross-attention, a cache with padding, dropout that opens a mask."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_encoder.audit.arguments import AuditScope
from viz_encoder.audit.zoo.models import (
    D_MODEL,
    N_HEADS,
    Around,
    Heads,
    scores_of,
    sdpa,
    written_out,
)
from viz_encoder.audit.zoo.specimen import MaskedModel, Valid, earlier_tokens, plant, real_tokens

N_MEMORY = 5
ACROSS = {
    "across": lambda: nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=True),
    "memory": lambda: nn.Embedding(N_MEMORY, D_MODEL),
}


def all_of_it(valid: Valid) -> Tensor:
    """A memory of five tokens."""
    return torch.ones(*valid.shape, N_MEMORY, dtype=torch.bool)


def real_ones(valid: Valid) -> Tensor:
    """Sources of up to five tokens, as long as their targets."""
    real = torch.arange(N_MEMORY) < valid.sum(dim=1, keepdim=True)
    return real[:, None].expand(-1, valid.shape[1], -1)


@plant(
    "H6-cross-causal",
    wrong="attn_mask=ignore",
    right="attn_mask=None",
    flagged_by="cross_attention",
    intent=earlier_tokens,
    passed=earlier_tokens,
    parts=ACROSS,
    scope=AuditScope(cross=all_of_it),
)
def causal_over_memory(self: Any, x: Tensor, keep: Tensor) -> Tensor:
    """A decoder's layer."""
    x = self.inner(x, keep)
    memory = self.memory.weight.expand(len(x), -1, -1)
    ignore = torch.ones(x.shape[1], N_MEMORY, dtype=torch.bool).triu(1)
    return x + self.across(x, memory, memory, attn_mask=ignore, need_weights=False)[0]


@plant(
    "H6-memory-padding",
    wrong="key_padding_mask=None",
    right="key_padding_mask=~real",
    flagged_by="cross_attention",
    intent=earlier_tokens,
    passed=earlier_tokens,
    parts=ACROSS,
    scope=AuditScope(cross=real_ones),
)
def memory_padding(self: Any, x: Tensor, keep: Tensor) -> Tensor:
    """A decoder's layer."""
    x = self.inner(x, keep)
    memory = self.memory.weight.expand(len(x), -1, -1)
    real = torch.arange(N_MEMORY) < keep[:, -1].sum(dim=1, keepdim=True)
    return x + self.across(x, memory, memory, key_padding_mask=None)[0]


@plant(
    "H7-prompt-padding",
    wrong="keep = torch.ones_like(passed)",
    right="keep = passed",
    flagged_by="cache",
)
def prompt_padding_forgotten(seed: int) -> MaskedModel:
    """The whole sequence is run again at each step, as a cache would have it."""
    model = written_out(seed, sdpa)

    def step(x: Tensor, cache: Tensor | None, passed: Tensor) -> tuple[Tensor, Tensor]:
        seen = x if cache is None else torch.cat([cache, x], dim=1)
        keep = passed
        if cache is not None:
            keep = torch.ones_like(passed)
        out = model(seen, keep & torch.ones_like(keep).tril())
        return out[:, -x.shape[1] :], seen

    return MaskedModel(model, earlier_tokens, scope=AuditScope(step=step))


@plant(
    "F3-mask-dropout",
    wrong="(scores + F.dropout(ban, 0.3, model.training)).softmax(-1)",
    right="F.dropout((scores + ban).softmax(-1), 0.3, model.training)",
    flagged_by="train_mode",
)
def dropout_on_the_mask(seed: int) -> MaskedModel:
    """An additive mask, parts of which are dropped."""

    def attend(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
        scores = scores_of(q, k)
        ban = torch.zeros_like(scores).masked_fill(~passed[:, None], torch.finfo(q.dtype).min / 4)
        return (scores + F.dropout(ban, 0.3, model.training)).softmax(-1) @ v

    model = written_out(seed, attend)
    return MaskedModel(model, real_tokens)


@plant(
    "F4-dropout-path",
    wrong="weights = scores_of(q, k).softmax(-1)",
    right="weights = scores_of(q, k).masked_fill(~passed[:, None], -torch.inf).softmax(-1)",
    flagged_by="train_mode",
)
def masked_without_dropout(seed: int) -> MaskedModel:
    """One path for training with dropout, and one for all else."""

    def attend(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
        if not drop.training or drop.p == 0:
            return sdpa(q, k, v, passed)
        weights = scores_of(q, k).softmax(-1)
        return drop(weights) @ v

    def forward(self: Any, x: Tensor, passed: Tensor) -> Tensor:
        return self.inner(x, passed)

    drop = nn.Dropout(0.3)
    model = Around(written_out(seed, attend), forward, drop=drop).eval()
    return MaskedModel(model, earlier_tokens)
