"""ELECTRA: discriminator, generator, and its other heads."""

from typing import Any

from transformers import (
    ElectraConfig,
    ElectraForMaskedLM,
    ElectraForPreTraining,
    ElectraForQuestionAnswering,
    ElectraForSequenceClassification,
    ElectraForTokenClassification,
    ElectraModel,
)

from tests.checkpoints.cases.bert import run
from tests.checkpoints.parity import N_WORDS, Case, Expected
from viz_encoder.inputs import Inputs

SIZES = {
    "vocab_size": N_WORDS, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 19, "embedding_size": 14,
}  # fmt: skip


def run_discriminator(reference: Any, inputs: Inputs) -> Expected:
    """One score a token, which the reference gives without an axis for it."""
    expected = run("replaced")(reference, inputs)
    return expected._replace(heads={"replaced": expected.heads["replaced"][..., None]})


def build(kind: type, **settings: Any):
    return lambda: kind(ElectraConfig(**{**SIZES, **settings}))


CASES = [
    Case("ELECTRA", "electra", build(ElectraModel), run(),
        wrong={
            "layer_norm_eps": 1e-3, "hidden_act": "gelu_new", "num_attention_heads": 6,
            "is_decoder": True, "num_hidden_layers": 2, "type_vocab_size": 1,
            "embedding_size": 24, "position_embedding_type": "relative_key",
        },
    ),
    Case("ELECTRA as wide as its table", "electra", build(ElectraModel, embedding_size=24), run(),
         wrong={"embedding_size": 14}),
    Case("ELECTRA's discriminator", "electra", build(ElectraForPreTraining), run_discriminator,
         wrong={"hidden_act": "gelu_new"}),
    Case("ELECTRA's generator", "electra", build(ElectraForMaskedLM, hidden_act="relu"),
         run("masked"), wrong={"layer_norm_eps": 1e-3}),
    Case("ELECTRA, 3 labels", "electra", build(ElectraForSequenceClassification, num_labels=3),
         run("classify")),
    Case("ELECTRA, 5 token labels", "electra", build(ElectraForTokenClassification, num_labels=5),
         run("tokens")),
    Case("ELECTRA for answers", "electra", build(ElectraForQuestionAnswering), run()),
]  # fmt: skip
