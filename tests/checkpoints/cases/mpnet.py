"""MPNet, with each of its heads; 150 tokens reach the distances that share a bucket."""

from typing import Any

from transformers import (
    MPNetConfig,
    MPNetForMaskedLM,
    MPNetForQuestionAnswering,
    MPNetForSequenceClassification,
    MPNetForTokenClassification,
    MPNetModel,
)

from tests.checkpoints.parity import LENGTHS, N_WORDS, Case, run_text

SIZES = {
    "vocab_size": N_WORDS, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 152, "layer_norm_eps": 1e-5,
}  # fmt: skip
run = run_text


def case(name: str, kind: type, task: str = "", **parts: Any) -> Case:
    settings = parts.pop("settings", {})
    return Case(
        name, "mpnet", lambda: kind(MPNetConfig(**{**SIZES, **settings})), run(task), pad_id=1,
        lengths=(*LENGTHS, (150, 131)), **parts,
    )  # fmt: skip


CASES = [
    case("MPNet", MPNetModel, "pool",
        wrong={
            "layer_norm_eps": 1e-3, "hidden_act": "gelu_new", "num_attention_heads": 6,
            "num_hidden_layers": 2, "max_position_embeddings": 151,
            "relative_attention_num_buckets": 64,
        },
    ),
    case("MPNet for masked tokens", MPNetForMaskedLM, "masked", settings={"hidden_act": "relu"}),
    case("MPNet, 3 labels", MPNetForSequenceClassification, "classify",
         settings={"num_labels": 3}),
    case("MPNet, 5 token labels", MPNetForTokenClassification, "tokens",
         settings={"num_labels": 5}),
    case("MPNet for answers", MPNetForQuestionAnswering),
]  # fmt: skip
