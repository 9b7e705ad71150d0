"""EuroBERT, with shared keys and values, and each of its heads."""

from functools import partial
from typing import Any

from transformers import (
    EuroBertConfig,
    EuroBertForMaskedLM,
    EuroBertForSequenceClassification,
    EuroBertForTokenClassification,
    EuroBertModel,
)

from tests.checkpoints.parity import N_WORDS, Case, run_text

SIZES = {
    "vocab_size": N_WORDS, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 40, "max_position_embeddings": 19,
    "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "mask_token_id": 4,
}  # fmt: skip
run = partial(run_text, norm="norm")


def build(kind: type, **settings: Any):
    return lambda: kind(EuroBertConfig(**{**SIZES, **settings}))


CASES = [
    Case("EuroBERT", "eurobert", build(EuroBertModel), run(),
        wrong={
            "rms_norm_eps": 1e-3, "hidden_act": "gelu", "num_attention_heads": 6,
            "num_hidden_layers": 2, "head_dim": 12, "attention_bias": True, "mlp_bias": True,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0},
            "rope_scaling": {"rope_type": "linear", "factor": 2.0},
        },
    ),
    Case("EuroBERT, biased, wide heads, one key for all", "eurobert",
        build(EuroBertModel, attention_bias=True, mlp_bias=True, head_dim=10,
              num_key_value_heads=1), run(), wrong={"head_dim": None}),
    Case("EuroBERT for masked tokens", "eurobert", build(EuroBertForMaskedLM), run("masked")),
    Case("EuroBERT for masked tokens, biased", "eurobert",
         build(EuroBertForMaskedLM, mlp_bias=True), run("masked")),
    *(
        Case(f"EuroBERT, 3 labels, {pool}", "eurobert",
             build(EuroBertForSequenceClassification, num_labels=3, classifier_pooling=pool),
             run("classify"), wrong={"classifier_pooling": other})
        for pool, other in (("late", "mean"), ("mean", "bos"), ("bos", "late"))
    ),
    Case("EuroBERT, 5 token labels", "eurobert",
         build(EuroBertForTokenClassification, num_labels=5), run("tokens")),
]  # fmt: skip
