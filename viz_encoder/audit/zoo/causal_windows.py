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
    "triu(diagonal=0): a token may not see itself",
    symptom="The first token is NaN, and with it everything after one more layer.",
    story="The diagonal belongs to the keys that are allowed: RVC-Boss/GPT-SoVITS#965, "
    "TransformerLensOrg/TransformerLens#284.",
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
    "triu(diagonal=2): a token sees the next one",
    symptom="The loss is far too good: the model reads the token that it is to predict.",
    story="Off by one the other way; in training it looks like success.",
    wrong="ones.triu(diagonal=2)",
    right="ones.triu(diagonal=1)",
    flagged_by="maps",
    intent=earlier_tokens,
    taker=lambda seed: multihead(seed, _ignoring),
)
def next_one_seen(valid: Valid) -> Tensor:
    """Off by one toward the future."""
    ones = torch.ones(valid.shape[1], valid.shape[1], dtype=torch.bool)
    return ones.triu(diagonal=2)


@plant(
    "D2-hint",
    "is_causal=True overrides your mask",
    symptom="The window counts in evaluation and not in training.",
    story="is_causal is a hint: in one path nn.MultiheadAttention drops attn_mask for it, in "
    "another it does not (pytorch/pytorch#99282, #172338, #195660).",
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
    "A causal mask aligned to the wrong corner",
    symptom="Later chunks see the start of the text only, and not even themselves.",
    story="With fewer queries than keys, is_causal=True counts from the first key: with a cache or "
    "in chunks, that is the wrong corner (onnx/onnx#8068).",
    wrong="q[:, :, start:stop], k[:, :, :stop], v[:, :, :stop], is_causal=True",
    right="q[:, :, start:stop], k[:, :, :stop], v[:, :, :stop], attn_mask=keep",
    flagged_by="maps",
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
    "Causal only until a mask is given",
    symptom="Causal for a single text; in a padded batch each token sees the future.",
    story="The kernel takes attn_mask or is_causal, so the code drops the one for the other: "
    "huggingface/transformers#48769, #30652.",
    wrong="attn_mask=keep[:, None], is_causal=False",
    right="attn_mask=(keep & keep.new_ones(keep.shape).tril())[:, None]",
    flagged_by="maps",
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
    "A window one key too wide",
    symptom="Four keys a row where three were asked for; over many layers the reach grows.",
    story="<= for <: huggingface/transformers#39408, #29623, vllm-project/vllm#3385.",
    wrong="(query - key) <= 3",
    right="(query - key) < 3",
    flagged_by="maps",
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
    "A window one key too narrow",
    symptom="Nothing leaks; each token just sees one neighbor less than it should.",
    story="The same line, off by one the other way: huggingface/transformers#40700, zml/zml#763.",
    wrong="(query - key) < 3 - 1",
    right="(query - key) < 3",
    flagged_by="maps",
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
    "A window on one side only",
    symptom="Tokens see the left half of their window and never the right one.",
    story="The absolute value is missing, or a causal mask was left on: similar to "
    "unslothai/unsloth#8253.",
    wrong="((query - key) <= 2) & (query >= key)",
    right="((query - key).abs() <= 2)",
    flagged_by="maps",
    intent=neighbors(2),
)
def half_a_window(valid: Valid) -> Tensor:
    """Two neighbors on either side were meant."""
    position = torch.arange(valid.shape[1])
    query, key = position[:, None], position[None, :]
    return real_tokens(valid) & ((query - key) <= 2) & (query >= key)


@plant(
    "D6-packed",
    "Packed documents read each other",
    symptom="A document's vectors depend on which document was packed in front of it.",
    story="Several texts share one sequence to save padding, and only the causal mask is passed: "
    "huggingface/nanoVLM#204, alex-hh/profam#495, huggingface/trl#3526.",
    wrong="return earlier_tokens(valid)",
    right="return earlier_tokens(valid) & same_document",
    flagged_by="maps",
    intent=own_document(4, causal=True),
    scope=AuditScope(documents=True),
)
def documents_leak(valid: Valid) -> Tensor:
    """Two documents in a row, four tokens each."""
    number = torch.arange(valid.shape[1]) // 4
    same_document = number[:, None] == number[None, :]
    return earlier_tokens(valid)
