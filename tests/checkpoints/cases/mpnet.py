"""MPNet, with each of its heads; 150 tokens reach the distances that share a bucket."""

from typing import Any

from tests.checkpoints.parity import LENGTHS, Case, builder, run_text

run = run_text
build = builder("MPNet", max_position_embeddings=152, layer_norm_eps=1e-5)


def case(name: str, kind: str, task: str = "", **parts: Any) -> Case:
    settings = parts.pop("settings", {})
    return Case(
        name, "mpnet", build(kind, **settings), run(task), pad_id=1,
        lengths=(*LENGTHS, (150, 131)), **parts,
    )  # fmt: skip


CASES = [
    case("MPNet", "Model", "pool",
        wrong={
            "layer_norm_eps": 1e-3, "hidden_act": "gelu_new", "num_attention_heads": 6,
            "num_hidden_layers": 2, "max_position_embeddings": 151,
            "relative_attention_num_buckets": 64,
        },
    ),
    case("MPNet for masked tokens", "ForMaskedLM", "masked", settings={"hidden_act": "relu"}),
    case("MPNet, 3 labels", "ForSequenceClassification", "classify", settings={"num_labels": 3}),
    case("MPNet, 5 token labels", "ForTokenClassification", "tokens", settings={"num_labels": 5}),
    case("MPNet for answers", "ForQuestionAnswering"),
]  # fmt: skip
