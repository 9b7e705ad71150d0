"""ALBERT, with each of its heads."""

from typing import Any

from tests.checkpoints.cases.bert import run
from tests.checkpoints.parity import Case, Expected, builder
from viz_encoder.inputs import Inputs


def run_both(reference: Any, inputs: Inputs) -> Expected:
    """As ALBERT was trained: masked tokens, and the order of two sentences, which we leave out."""
    out = reference(
        inputs.values, attention_mask=inputs.valid.long(), token_type_ids=inputs.segments,
        output_hidden_states=True, output_attentions=True,
    )  # fmt: skip
    return Expected(out.hidden_states, out.attentions, heads={"masked": out.prediction_logits})


build = builder("Albert", embedding_size=14)


CASES = [
    Case("ALBERT", "albert", build(), run("pool"),
        wrong={
            "layer_norm_eps": 1e-3, "hidden_act": "gelu", "num_attention_heads": 6,
            "num_hidden_layers": 2, "num_hidden_groups": 3, "inner_group_num": 2,
            "type_vocab_size": 1, "embedding_size": 24, "position_embedding_type": "relative_key",
        },
    ),
    Case("ALBERT, gelu", "albert", build("Model", hidden_act="gelu"), run("pool"),
         wrong={"hidden_act": "gelu_new"}),
    Case("ALBERT, deeper than its file", "albert", build("Model", num_hidden_layers=40),
         run("pool")),
    Case("ALBERT for masked tokens", "albert", build("ForMaskedLM"), run("masked"),
         wrong={"hidden_act": "gelu"}),
    Case("ALBERT as it was trained", "albert", build("ForPreTraining"), run_both),
    Case("ALBERT, 3 labels", "albert", build("ForSequenceClassification", num_labels=3),
         run("classify")),
    Case("ALBERT, 5 token labels", "albert", build("ForTokenClassification", num_labels=5),
         run("tokens")),
    Case("ALBERT for answers", "albert", build("ForQuestionAnswering"), run()),
]  # fmt: skip
