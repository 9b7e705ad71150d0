"""RoBERTa, XLM-RoBERTa and CamemBERT, with each of their heads."""

from typing import Any

from tests.checkpoints.cases.bert import run
from tests.checkpoints.parity import Case, builder

build, xlm, camembert = (
    builder(family, max_position_embeddings=21, layer_norm_eps=1e-5)
    for family in ("Roberta", "XLMRoberta", "Camembert")
)


def case(name: str, model: Any, task: str = "", **parts: Any) -> Case:
    model_type = {"R": "roberta", "X": "xlm-roberta", "C": "camembert"}[name[0]]
    return Case(name, model_type, model, run(task), pad_id=parts.pop("pad_id", 1), **parts)


CASES = [
    case("RoBERTa", build(), "pool",
        wrong={
            "layer_norm_eps": 1e-3, "hidden_act": "gelu_new", "num_attention_heads": 6,
            "is_decoder": True, "num_hidden_layers": 2, "type_vocab_size": 1, "pad_token_id": 0,
            "max_position_embeddings": 22, "position_embedding_type": "relative_key",
        },
    ),
    case("RoBERTa, padding last", build("Model", pad_token_id=4, type_vocab_size=1,
        max_position_embeddings=24), "pool", pad_id=4, wrong={"pad_token_id": 3}),
    case("RoBERTa for masked tokens", build("ForMaskedLM", hidden_act="relu"), "masked"),
    case("RoBERTa, 3 labels", build("ForSequenceClassification", num_labels=3), "classify"),
    case("RoBERTa, 5 token labels", build("ForTokenClassification", num_labels=5), "tokens"),
    case("RoBERTa for answers", build("ForQuestionAnswering")),
    case("XLM-RoBERTa", xlm(), "pool", wrong={"pad_token_id": 0, "hidden_act": "gelu_new"}),
    case("XLM-RoBERTa for masked tokens", xlm("ForMaskedLM"), "masked"),
    case("XLM-RoBERTa, 5 token labels", xlm("ForTokenClassification", num_labels=5), "tokens"),
    case("CamemBERT for masked tokens", camembert("ForMaskedLM"), "masked",
         wrong={"pad_token_id": 0, "layer_norm_eps": 1e-3}),
    case("CamemBERT, 3 labels", camembert("ForSequenceClassification", num_labels=3), "classify"),
]  # fmt: skip
