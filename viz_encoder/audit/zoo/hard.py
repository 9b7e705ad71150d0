"""Section H: what needs a mode, a length or a cache to show."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_encoder.audit.arguments import AuditScope
from viz_encoder.audit.zoo.models import N_HEADS, Heads, Stack, sdpa, written_out
from viz_encoder.audit.zoo.specimen import (
    MaskedModel,
    Valid,
    earlier_tokens,
    last_tokens,
    plant,
    real_tokens,
)
from viz_encoder.model.attention import merge_heads, split_heads

BORDER = 32


@plant(
    "F2-dropout",
    wrong="dropout_p=0.1",
    right="dropout_p=0.1 if model.training else 0.0",
    flagged_by="runs",
)
def dropout_stays(seed: int) -> MaskedModel:
    """The rate is written into the call."""

    def attend(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
        keep, attention = passed[:, None], F.scaled_dot_product_attention
        return attention(q, k, v, attn_mask=keep, dropout_p=0.1)

    model = written_out(seed, attend)
    return MaskedModel(model, real_tokens)


@plant(
    "H1-training-only",
    wrong="F.scaled_dot_product_attention(q, k, v)",
    right="sdpa(q, k, v, passed)",
    flagged_by="train_mode",
)
def only_in_training(seed: int) -> MaskedModel:
    """The mask is left out while training."""

    def attend(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
        if model.training:
            return F.scaled_dot_product_attention(q, k, v)
        return sdpa(q, k, v, passed)

    model = written_out(seed, attend)
    return MaskedModel(model, real_tokens)


@plant(
    "H2-above-32",
    wrong="keep[:, BORDER:] |= passed[:, -1:]",
    right="keep = passed.clone()",
    flagged_by="lengths",
    intent=earlier_tokens,
)
def only_when_long(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """Tokens from 32 on see what the last one sees."""
    keep = passed.clone()
    keep[:, BORDER:] |= passed[:, -1:]
    return sdpa(q, k, v, keep)


@plant(
    "H3-minus-1e4",
    wrong="(~keep) * -1e4",
    right="torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)",
    flagged_by="constants",
    verdict="WARN",
)
def constant_too_small(valid: Valid) -> Tensor:
    """An added mask that extreme scores beat."""
    keep = real_tokens(valid)
    return (~keep) * -1e4


@plant(
    "H4-wrong-intent",
    wrong="intent = last_tokens(4)",
    right="intent = last_tokens(3)",
    flagged_by="",
    verdict="PASS",
)
def told_wrongly(seed: int) -> MaskedModel:
    """Wrong in the same way twice."""
    intent = last_tokens(4)
    return MaskedModel(written_out(seed, sdpa), intent)


WIDTH = 3
Cache = tuple[int, list[tuple[Heads, Heads]]]  # tokens so far; keys and values of each layer
Step = Callable[[Tensor, Cache | None], tuple[Tensor, Cache]]
AttendSince = Callable[[Heads, Heads, Heads, int], Heads]  # (q, all k, all v, tokens before)


def _earlier(q: Heads, k: Heads, before: int) -> Tensor:
    """Which keys of the cache and of this step each new query may attend to: itself and earlier."""
    return torch.ones(q.shape[2], k.shape[2]).tril(before).bool()


def _all(held: Heads) -> Heads:
    return held


def stepping(model: Stack, attend: AttendSince, keep: Callable[[Heads], Heads] = _all) -> Step:
    """The same weights, some tokens at a time; `keep` is what stays in the cache."""
    blocks: Any = model.blocks

    def step(x: Tensor, cache: Cache | None) -> tuple[Tensor, Cache]:
        before, old = cache or (0, [])
        n_new, new = x.shape[1], []
        for number, block in enumerate(blocks):
            layer = block.attention
            q, k, v = (split_heads(project(x), N_HEADS) for project in (layer.q, layer.k, layer.v))
            if old:
                k, v = (torch.cat(pair, 2) for pair in zip(old[number], (k, v), strict=True))
            x = block.norm(x + layer.o(merge_heads(attend(q, k, v, before))))
            x = block.last_norm(x + block.down(F.gelu(block.up(x))))
            new.append((keep(k), keep(v)))
        return x, (before + n_new, new)

    return step


@plant(
    "H5-cache",
    wrong="F.scaled_dot_product_attention(q, k, v, is_causal=True)",
    right="F.scaled_dot_product_attention(q, k, v, attn_mask=seen)",
    flagged_by="cache",
)
def only_with_a_cache(seed: int) -> MaskedModel:
    """One query, aligned to the first key."""
    model = written_out(seed, sdpa)

    def attend(q: Heads, k: Heads, v: Heads, before: int) -> Heads:
        seen = _earlier(q, k, before)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    return MaskedModel(model, earlier_tokens, scope=AuditScope(step=stepping(model, attend)))


@plant(
    "H15-step-window",
    wrong="place = torch.arange(q.shape[2])",
    right="place = before + torch.arange(q.shape[2])",
    flagged_by="cache",
)
def window_by_rows(seed: int) -> MaskedModel:
    """A window of three tokens over a cache of all."""
    model = written_out(seed, sdpa)

    def attend(q: Heads, k: Heads, v: Heads, before: int) -> Heads:
        place = torch.arange(q.shape[2])
        seen = _earlier(q, k, before)
        window = place[:, None] - torch.arange(k.shape[2]) < WIDTH
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen & window)

    scope = AuditScope(step=stepping(model, attend))
    return MaskedModel(model, last_tokens(WIDTH), scope=scope)


@plant(
    "H16-short-cache",
    wrong="held[:, :, -(WIDTH - 2) :]",
    right="held[:, :, -(WIDTH - 1) :]",
    flagged_by="cache",
)
def drops_too_early(seed: int) -> MaskedModel:
    """A window of three tokens: two are kept beside the new one."""
    model = written_out(seed, sdpa)

    def attend(q: Heads, k: Heads, v: Heads, before: int) -> Heads:
        place = before + torch.arange(q.shape[2])
        key = before + q.shape[2] - k.shape[2] + torch.arange(k.shape[2])
        apart = place[:, None] - key
        return F.scaled_dot_product_attention(q, k, v, attn_mask=(apart >= 0) & (apart < WIDTH))

    def keep(held: Heads) -> Heads:
        return held[:, :, -(WIDTH - 2) :]

    scope = AuditScope(step=stepping(model, attend, keep))
    return MaskedModel(model, last_tokens(WIDTH), scope=scope)
