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

from tests.checkpoints.parity import N_WORDS, Case, Expected
from viz_encoder.inputs import Inputs

SIZES = {
    "vocab_size": N_WORDS, "dim": 24, "n_layers": 3, "n_heads": 4, "hidden_dim": 40,
    "max_position_embeddings": 19,
}  # fmt: skip


def run(task: str = ""):
    """Without segments, of which DistilBERT knows nothing."""

    def expected(reference: Any, inputs: Inputs) -> Expected:
        out = reference(
            inputs.values, attention_mask=inputs.valid.long(),
            output_hidden_states=True, output_attentions=True,
        )  # fmt: skip
        return Expected(out.hidden_states, out.attentions, heads={task: out.logits} if task else {})

    return expected


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
