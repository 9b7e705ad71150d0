"""Section H, further: steps with a cache that look elsewhere than one run over the whole text."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_encoder.audit.arguments import AuditScope
from viz_encoder.audit.zoo.models import N_HEADS, Heads, Stack, sdpa, written_out
from viz_encoder.audit.zoo.specimen import MaskedModel, earlier_tokens, last_tokens, plant
from viz_encoder.model.attention import merge_heads, split_heads

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
    "Wrong with a cache only",
    symptom="The whole text at once is right; token by token, each one sees the first token only.",
    story="One query and many keys, with is_causal=True: the mask is aligned to the first key "
    "(onnx/onnx#8068).",
    wrong="F.scaled_dot_product_attention(q, k, v, is_causal=True)",
    right="F.scaled_dot_product_attention(q, k, v, attn_mask=seen)",
    flagged_by="cache",
)
def only_with_a_cache(seed: int, fixed: bool) -> MaskedModel:
    """One query, aligned to the first key."""
    model = written_out(seed, sdpa)

    def attend(q: Heads, k: Heads, v: Heads, before: int) -> Heads:
        seen = _earlier(q, k, before)
        if fixed:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    return MaskedModel(model, earlier_tokens, scope=AuditScope(step=stepping(model, attend)))


@plant(
    "H15-step-window",
    "A window that is lost with a cache",
    symptom="Token by token, long texts drift away from what the whole text at once would give.",
    story="The window is cut by the rows of the new tokens, which begin anew at each step, and not "
    "by their places in the text: trymirai/lalamo#200.",
    wrong="place = torch.arange(q.shape[2])",
    right="place = before + torch.arange(q.shape[2])",
    flagged_by="cache",
)
def window_by_rows(seed: int, fixed: bool) -> MaskedModel:
    """A window of three tokens over a cache of all."""
    model = written_out(seed, sdpa)

    def attend(q: Heads, k: Heads, v: Heads, before: int) -> Heads:
        place = torch.arange(q.shape[2])
        if fixed:
            place = before + torch.arange(q.shape[2])
        seen = _earlier(q, k, before)
        window = place[:, None] - torch.arange(k.shape[2]) < WIDTH
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen & window)

    scope = AuditScope(step=stepping(model, attend))
    return MaskedModel(model, last_tokens(WIDTH), scope=scope)


@plant(
    "H16-short-cache",
    "A cache that drops a token too early",
    symptom="Texts shorter than the window are right; beyond it, each new token misses one.",
    story="A cache for a window holds the tokens that the next one may see, itself left out; here "
    "it holds one fewer. huggingface/transformers#37574 lost one at the step that fills it.",
    wrong="held[:, :, -(WIDTH - 2) :]",
    right="held[:, :, -(WIDTH - 1) :]",
    flagged_by="cache",
)
def drops_too_early(seed: int, fixed: bool) -> MaskedModel:
    """A window of three tokens: two are kept beside the new one."""
    model = written_out(seed, sdpa)

    def attend(q: Heads, k: Heads, v: Heads, before: int) -> Heads:
        place = before + torch.arange(q.shape[2])
        key = before + q.shape[2] - k.shape[2] + torch.arange(k.shape[2])
        apart = place[:, None] - key
        return F.scaled_dot_product_attention(q, k, v, attn_mask=(apart >= 0) & (apart < WIDTH))

    def keep(held: Heads) -> Heads:
        if fixed:
            return held[:, :, -(WIDTH - 1) :]
        return held[:, :, -(WIDTH - 2) :]

    scope = AuditScope(step=stepping(model, attend, keep))
    return MaskedModel(model, last_tokens(WIDTH), scope=scope)
