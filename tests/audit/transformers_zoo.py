"""Models of transformers, tiny and random: the catalog's bugs in them, and correct ones."""

from collections.abc import Callable
from functools import partial
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
    with_cls,  # noqa: F401 (a mended line uses it)
    words,
)
from viz_encoder.audit import AuditInputs, AuditScope
from viz_encoder.audit.zoo.correct import Correct
from viz_encoder.audit.zoo.models import Around
from viz_encoder.audit.zoo.specimen import (
    MaskedModel,
    Specimen,
    earlier_tokens,
    last_tokens,
    neighbors,
    own_document,
    plant,
    real_tokens,
)

GROUPED = {**TEXT, "num_key_value_heads": 1}


def of(kind: str, sizes: dict[str, Any]) -> Callable[[int, Any], Around]:
    """What makes a model of that kind, which a plant's code calls."""
    return lambda seed, call: made(seed, kind, sizes, call)


@plant(
    "A1-attention-mask",
    title="1 means keep in transformers",
    symptom="Real tokens are hidden and padding is read.",
    story="A torch.nn padding mask (True = padding) is passed as attention_mask (1 = keep).",
    wrong="attention_mask=padding.long()",
    right="attention_mask=(~padding).long()",
    flagged_by="gradient",
    maker=of("Bert", TEXT),
    passed=lambda valid: ~valid,
)
def turned_over(model: nn.Module, x: Tensor, padding: Tensor) -> Tensor:
    return model(inputs_embeds=x, attention_mask=padding.long())[0]


@plant(
    "A4-bool-eager",
    title="A bool mask of four axes under eager",
    symptom="sdpa obeys it, eager adds it to the scores: the outputs differ a little.",
    story="huggingface/transformers#48363 is its kin; eager takes every 4-D mask as added.",
    wrong="allowed[:, None]",
    right="added(allowed)",
    taker=lambda seed: made(seed, "Bert", TEXT, embedded, "eager"),
)
def bool_under_eager(valid: Tensor) -> Tensor:
    allowed = real_tokens(valid)
    return allowed[:, None]


@plant(
    "A4-ones-added",
    title="A 0/1 float mask of four axes",
    symptom="Nothing is masked, under eager and under sdpa.",
    story="The tokenizer's 1 = keep, given the four axes by hand.",
    wrong="allowed[:, None].float()",
    right="added(allowed)",
    flagged_by="static",
    taker=lambda seed: made(seed, "Bert", TEXT, embedded),
)
def ones_added(valid: Tensor) -> Tensor:
    allowed = real_tokens(valid)
    return allowed[:, None].float()


@plant(
    "D5-mistral",
    title="sliding_window counts the token itself",
    symptom="Four keys a row where three were meant.",
    story="sliding_window=W is W keys, the token itself among them: "
    "huggingface/transformers#39408, vllm-project/vllm#3385.",
    wrong='"sliding_window": 3 + 1',
    right='"sliding_window": 3',
)
def mistral_window(seed: int) -> MaskedModel:
    sizes = {**GROUPED, "sliding_window": 3 + 1}
    scope = AuditScope(window=3)
    return MaskedModel(made(seed, "Mistral", sizes, embedded), last_tokens(3), ones, scope=scope)


@plant(
    "D5-modernbert",
    title="local_attention is both sides together",
    symptom="Two neighbors on either side where four were meant, in the local layers only.",
    story="local_attention=W reaches W // 2 to either side; layer 0 is global.",
    wrong='"local_attention": 4',
    right='"local_attention": 2 * 4',
)
def modernbert_window(seed: int) -> MaskedModel:
    sizes = {**modernbert(), "local_attention": 4}
    intents = [real_tokens, neighbors(4), neighbors(4)]
    model = made(seed, "ModernBert", sizes, embedded)
    return MaskedModel(model, intents, ones, n_layers=3, scope=AuditScope(lengths=(13,)))


@plant(
    "D6-llama",
    title="position_ids alone do not separate documents",
    symptom="Document 2 reads document 1, unless use_cache=False and no mask is passed.",
    story="Positions that start again are taken as borders only in one of the paths: "
    "huggingface/trl#3526, huggingface/nanoVLM#204.",
    wrong="model(inputs_embeds=x, position_ids=positions)",
    right="model(inputs_embeds=x, position_ids=positions, attention_mask=passed)",
    maker=of("Llama", GROUPED),
    intent=own_document(4, causal=True),
    passed=lambda valid: added(own_document(4, causal=True)(valid)),
    scope=AuditScope(documents=True),
)
def llama_packed(model: nn.Module, x: Tensor, passed: Tensor) -> Tensor:
    positions = (torch.arange(x.shape[1]) % 4).expand(len(x), -1)
    return model(inputs_embeds=x, position_ids=positions)[0]


@plant(
    "E6-gpt2",
    title="GPT-2 counts positions from the padding",
    symptom="A prompt gives other numbers when it is padded on the left.",
    story="Without position_ids, GPT-2 counts columns: ndif-team/nnsight#673, "
    "tloen/alpaca-lora#315.",
    wrong="model(inputs_embeds=x, attention_mask=mask)",
    right="model(inputs_embeds=x, attention_mask=mask, position_ids=positions)",
    flagged_by="padding_invariance",
    maker=of("GPT2", GPT2),
    intent=earlier_tokens,
    passed=ones,
    inputs=AuditInputs(padding_side="left"),
)
def gpt2_left(model: nn.Module, x: Tensor, mask: Tensor) -> Tensor:
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    return model(inputs_embeds=x, attention_mask=mask)[0]


@plant(
    "E7-roberta",
    title="RoBERTa's padding must be id 1",
    symptom="Left padding with another id shifts every position.",
    story="RoBERTa counts the tokens whose id is not 1: huggingface/transformers#34528, #9116.",
    wrong="pad_id=0",
    right="pad_id=1",
    flagged_by="padding_invariance",
)
def roberta_pad_id(seed: int) -> MaskedModel:
    inputs = AuditInputs(make=words, padding_side="left", pad_id=0)
    return MaskedModel(roberta(seed), real_tokens, ones, inputs=inputs)


@plant(
    "E9-bert",
    title="BERT without attention_mask",
    symptom="A text's vectors change with the length of its neighbors in the batch.",
    story="At its initial scale of 0.02 such a BERT is off by 0.008 only, at 0.3 by 0.8.",
    wrong="model(inputs_embeds=x)",
    right="model(inputs_embeds=x, attention_mask=mask)",
    flagged_by="gradient",
    maker=of("Bert", TEXT),
    passed=ones,
)
def bert_without(model: nn.Module, x: Tensor, mask: Tensor) -> Tensor:
    return model(inputs_embeds=x)[0]


@plant(
    "E10-implementations",
    title="eager and sdpa read one mask differently",
    symptom="Right under sdpa; switch to eager to see the maps, and the numbers change.",
    story="The same 4-D bool mask: huggingface/transformers#48363.",
    wrong='made(seed, "Bert", TEXT, embedded, "eager")',
    right='made(seed, "Bert", TEXT, embedded, "sdpa")',
    flagged_by="implementations",
)
def implementations_differ(seed: int) -> MaskedModel:
    other = made(seed, "Bert", TEXT, embedded, "eager")
    model, scope = made(seed, "Bert", TEXT, embedded), AuditScope(variants={"other": other})
    return MaskedModel(model, real_tokens, lambda valid: real_tokens(valid)[:, None], scope=scope)


@plant(
    "E11-vit",
    title="A ViT reads the black padding",
    symptom="Patches put up to half of their attention on padding; its pixels move [CLS].",
    story="Pictures are filled up to one size, and no mask is passed: lucidrains/vit-pytorch#246, "
    "facebookresearch/CovidPrognosis#16.",
    wrong="vit(model, x)",
    right="vit(model, x, attention_mask=with_cls(mask))",
    maker=vit_model,
    passed=ones,
    d_model=3 * PATCH * PATCH,
)
def vit_without(model: nn.Module, x: Tensor, mask: Tensor) -> Tensor:
    return vit(model, x)


SPECIMENS: dict[str, Specimen] = {
    one.identifier: one for one in list(globals().values()) if isinstance(one, Specimen)
}


def bert(seed: int, attn: str, dtype: torch.dtype = torch.float32) -> MaskedModel:
    return MaskedModel(made(seed, "Bert", TEXT, embedded, attn).to(dtype), real_tokens, ones)


def bert_twice(seed: int) -> MaskedModel:
    scope = AuditScope(variants={"eager": made(seed, "Bert", TEXT, embedded, "eager")})
    return MaskedModel(made(seed, "Bert", TEXT, embedded), real_tokens, ones, scope=scope)


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


def roberta_ids(seed: int) -> MaskedModel:
    return MaskedModel(roberta(seed), real_tokens, ones, inputs=AuditInputs(make=words, pad_id=1))


CORRECT: Correct = {
    "BERT, eager": lambda s: bert(s, "eager"),
    "BERT, sdpa": lambda s: bert(s, "sdpa"),
    "BERT, bfloat16": lambda s: bert(s, "sdpa", torch.bfloat16),
    "BERT, eager and sdpa agree": bert_twice,
    "BERT, added mask": partial(SPECIMENS["A4-bool-eager"].build, fixed=True),
    "GPT-2, with position_ids": gpt2,
    "Llama, with a cache": llama_with_cache,
    "Mistral, window": partial(SPECIMENS["D5-mistral"].build, fixed=True),
    "ModernBERT, global and local": modernbert_local,
    "RoBERTa, ids": roberta_ids,
    "ViT, with attention_mask": partial(SPECIMENS["E11-vit"].build, fixed=True),
}
