"""ELECTRA: discriminator, generator, and its other heads."""

from typing import Any

from tests.checkpoints.cases.bert import run
from tests.checkpoints.parity import Case, Expected, builder
from viz_encoder.inputs import Inputs


def run_discriminator(reference: Any, inputs: Inputs) -> Expected:
    """One score a token, which the reference gives without an axis for it."""
    expected = run("replaced")(reference, inputs)
    return expected._replace(heads={"replaced": expected.heads["replaced"][..., None]})


build = builder("Electra", embedding_size=14)


CASES = [
    Case("ELECTRA", "electra", build(), run(),
        wrong={
            "layer_norm_eps": 1e-3, "hidden_act": "gelu_new", "num_attention_heads": 6,
            "is_decoder": True, "num_hidden_layers": 2, "type_vocab_size": 1,
            "embedding_size": 24, "position_embedding_type": "relative_key",
        },
    ),
    Case("ELECTRA as wide as its table", "electra", build("Model", embedding_size=24), run(),
         wrong={"embedding_size": 14}),
    Case("ELECTRA's discriminator", "electra", build("ForPreTraining"), run_discriminator,
         wrong={"hidden_act": "gelu_new"}),
    Case("ELECTRA's generator", "electra", build("ForMaskedLM", hidden_act="relu"),
         run("masked"), wrong={"layer_norm_eps": 1e-3}),
    Case("ELECTRA, 3 labels", "electra", build("ForSequenceClassification", num_labels=3),
         run("classify")),
    Case("ELECTRA, 5 token labels", "electra", build("ForTokenClassification", num_labels=5),
         run("tokens")),
    Case("ELECTRA for answers", "electra", build("ForQuestionAnswering"), run()),
]  # fmt: skip
