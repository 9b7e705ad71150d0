"""BERT, with each of its heads."""

from typing import Any

from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)

from tests.checkpoints.parity import N_WORDS, Case, Expected
from viz_encoder.inputs import Inputs

SIZES = {
    "vocab_size": N_WORDS, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 19,
}  # fmt: skip


def run(task: str = ""):
    """The reference's hidden states and maps, and the logits of one head."""

    def expected(reference: Any, inputs: Inputs) -> Expected:
        out = reference(
            inputs.values, attention_mask=inputs.valid.long(), token_type_ids=inputs.segments,
            output_hidden_states=True, output_attentions=True,
        )  # fmt: skip
        heads = {task: out.pooler_output if task == "pool" else out.logits} if task else {}
        return Expected(out.hidden_states, out.attentions, heads=heads)

    return expected


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
