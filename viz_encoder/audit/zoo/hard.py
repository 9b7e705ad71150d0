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
    "Dropout that is never switched off",
    symptom="The same text gives different numbers each time, in eval() too.",
    story="dropout_p of the fused kernel ignores eval(): it drops whenever it is not 0.",
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
    "Wrong in training mode only",
    symptom="Evaluation is right; the model has learned with the padding in view.",
    story="Paths chosen by self.training, as torch.nn itself has them (pytorch/pytorch#99282).",
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
    "Wrong above 32 tokens only",
    symptom="Short texts are right; in long ones, later tokens read their own future.",
    story="Kernels work in blocks, and the border of a block is where a mask is cut wrong.",
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
    "-10,000 is not -inf",
    symptom="Right on ordinary inputs; where all allowed scores are below -10,000, the mask is "
    "inverted.",
    story="A constant chosen for half precision. Only the passed mask shows it: no ordinary input "
    "has such scores.",
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
    "The intent itself is wrong",
    symptom="Nothing: the model does what it was told, and it was told wrongly.",
    story="A window of 4 was written down where 3 was meant, in the code and in the intent.",
    wrong="intent = last_tokens(4)",
    right="intent = last_tokens(3)",
    flagged_by="",
    verdict="PASS",
    missed="An audit compares a model with the intent it is given; it cannot know that this is "
    "wrong.",
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
    "Wrong with a cache only",
    symptom="The whole text at once is right; token by token, each one sees the first token only.",
    story="One query and many keys, with is_causal=True: the mask is aligned to the first key "
    "(onnx/onnx#8068).",
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
    "A window that is lost with a cache",
    symptom="Token by token, long texts drift away from what the whole text at once would give.",
    story="The window is cut by the rows of the new tokens, which begin anew at each step, and not "
    "by their places in the text: trymirai/lalamo#200.",
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
    "A cache that drops a token too early",
    symptom="Texts shorter than the window are right; beyond it, each new token misses one.",
    story="A cache for a window holds the tokens that the next one may see, itself left out; here "
    "it holds one fewer. huggingface/transformers#37574 lost one at the step that fills it.",
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
