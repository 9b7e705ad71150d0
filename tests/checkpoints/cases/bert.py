"""BERT, with each of its heads."""

from functools import partial
from typing import Any

from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)

from tests.checkpoints.parity import N_WORDS, Case, run_text

SIZES = {
    "vocab_size": N_WORDS, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 19,
}  # fmt: skip
run = partial(run_text, segments=True)


def build(kind: type, **settings: Any):
    return lambda: kind(BertConfig(**SIZES, **settings))


CASES = [
    Case("BERT", "bert", build(BertModel), run("pool"),
        wrong={
            "layer_norm_eps": 1e-3, "hidden_act": "gelu_new", "num_attention_heads": 6,
            "is_decoder": True, "num_hidden_layers": 2, "type_vocab_size": 1,
        },
    ),
    Case("BERT, gelu_new", "bert", build(BertModel, hidden_act="gelu_new"), run("pool"),
         wrong={"hidden_act": "gelu"}),
    Case("BERT for masked tokens", "bert", build(BertForMaskedLM), run("masked")),
    Case("BERT, 3 labels", "bert", build(BertForSequenceClassification, num_labels=3),
         run("classify")),
    Case("BERT, 5 token labels", "bert", build(BertForTokenClassification, num_labels=5),
         run("tokens")),
]  # fmt: skip
