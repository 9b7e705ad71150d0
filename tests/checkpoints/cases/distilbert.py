"""DistilBERT, with each of its heads."""

from typing import Any

from transformers import (
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertForQuestionAnswering,
    DistilBertForSequenceClassification,
    DistilBertForTokenClassification,
    DistilBertModel,
)

from tests.checkpoints.parity import N_WORDS, Case, run_text

SIZES = {
    "vocab_size": N_WORDS, "dim": 24, "n_layers": 3, "n_heads": 4, "hidden_dim": 40,
    "max_position_embeddings": 19,
}  # fmt: skip
run = run_text


def build(kind: type, **settings: Any):
    return lambda: kind(DistilBertConfig(**{**SIZES, **settings}))


CASES = [
    Case("DistilBERT", "distilbert", build(DistilBertModel), run(),
        wrong={
            "activation": "gelu_new", "n_heads": 6, "n_layers": 2, "max_position_embeddings": 18,
            "hidden_dim": 41,
        },
    ),
    Case("DistilBERT, sines", "distilbert", build(DistilBertModel, sinusoidal_pos_embds=True),
         run()),
    Case("DistilBERT for masked tokens", "distilbert", build(DistilBertForMaskedLM),
         run("masked")),
    Case("DistilBERT, relu, for masked tokens", "distilbert",
         build(DistilBertForMaskedLM, activation="relu"), run("masked")),
    Case("DistilBERT, 3 labels", "distilbert",
         build(DistilBertForSequenceClassification, num_labels=3), run("classify")),
    Case("DistilBERT, 5 token labels", "distilbert",
         build(DistilBertForTokenClassification, num_labels=5), run("tokens")),
    Case("DistilBERT for answers", "distilbert", build(DistilBertForQuestionAnswering), run()),
]  # fmt: skip
