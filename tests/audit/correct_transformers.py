"""Correct models of transformers: what an audit must pass without a word."""

from typing import Any

import torch
from torch import Tensor, nn

from tests.audit.transformers_models import (
    GPT2,
    PATCH,
    TEXT,
    added,
    embedded,
    made,
    modernbert,
    ones,
    roberta,
    vit,
    vit_model,
    with_cls,
    words,
)
from viz_encoder.audit import AuditInputs, AuditScope
from viz_encoder.audit.zoo.correct import Correct
from viz_encoder.audit.zoo.specimen import (
    MaskedModel,
    earlier_tokens,
    last_tokens,
    neighbors,
    real_tokens,
)

GROUPED = {**TEXT, "num_key_value_heads": 1}


def bert(seed: int, attn: str, dtype: torch.dtype = torch.float32) -> MaskedModel:
    return MaskedModel(made(seed, "Bert", TEXT, embedded, attn).to(dtype), real_tokens, ones)


def bert_twice(seed: int) -> MaskedModel:
    scope = AuditScope(variants={"eager": made(seed, "Bert", TEXT, embedded, "eager")})
    return MaskedModel(made(seed, "Bert", TEXT, embedded), real_tokens, ones, scope=scope)


def bert_added(seed: int) -> MaskedModel:
    model = made(seed, "Bert", TEXT, embedded, "eager")
    return MaskedModel(model, real_tokens, lambda valid: added(real_tokens(valid)))


def gpt2(seed: int) -> MaskedModel:
    def call(model: nn.Module, x: Tensor, mask: Tensor) -> Tensor:
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        return model(inputs_embeds=x, attention_mask=mask, position_ids=positions)[0]

    return MaskedModel(made(seed, "GPT2", GPT2, call), earlier_tokens, ones)


def llama_with_cache(seed: int) -> MaskedModel:
    model = made(seed, "Llama", GROUPED, embedded)

    def step(x: Tensor, cache: Any) -> tuple[Tensor, Any]:
        out = model.inner(inputs_embeds=x, past_key_values=cache, use_cache=True)
        return out.last_hidden_state, out.past_key_values

    return MaskedModel(model, earlier_tokens, ones, scope=AuditScope(step=step))


def modernbert_local(seed: int) -> MaskedModel:
    model = made(seed, "ModernBert", {**modernbert(), "local_attention": 4}, embedded)
    return MaskedModel(model, [real_tokens, neighbors(2), neighbors(2)], ones, n_layers=3)


def mistral(seed: int) -> MaskedModel:
    model = made(seed, "Mistral", {**GROUPED, "sliding_window": 3}, embedded)
    return MaskedModel(model, last_tokens(3), ones, scope=AuditScope(window=3))


def vit_with_mask(seed: int) -> MaskedModel:
    def call(model: nn.Module, x: Tensor, mask: Tensor) -> Tensor:
        return vit(model, x, attention_mask=with_cls(mask))

    return MaskedModel(vit_model(seed, call), real_tokens, ones, d_model=3 * PATCH * PATCH)


def roberta_ids(seed: int) -> MaskedModel:
    return MaskedModel(roberta(seed), real_tokens, ones, inputs=AuditInputs(make=words, pad_id=1))


CORRECT: Correct = {
    "BERT, eager": lambda s: bert(s, "eager"),
    "BERT, sdpa": lambda s: bert(s, "sdpa"),
    "BERT, bfloat16": lambda s: bert(s, "sdpa", torch.bfloat16),
    "BERT, eager and sdpa agree": bert_twice,
    "BERT, added mask": bert_added,
    "GPT-2, with position_ids": gpt2,
    "Llama, with a cache": llama_with_cache,
    "Mistral, window": mistral,
    "ModernBERT, global and local": modernbert_local,
    "RoBERTa, ids": roberta_ids,
    "ViT, with attention_mask": vit_with_mask,
}
