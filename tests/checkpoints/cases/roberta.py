"""RoBERTa, XLM-RoBERTa and CamemBERT, with each of their heads."""

from typing import Any

from transformers import (
    CamembertConfig,
    CamembertForMaskedLM,
    CamembertForSequenceClassification,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaForQuestionAnswering,
    RobertaForSequenceClassification,
    RobertaForTokenClassification,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
    XLMRobertaForTokenClassification,
    XLMRobertaModel,
)

from tests.checkpoints.cases.bert import run
from tests.checkpoints.parity import N_WORDS, Case

SIZES = {
    "vocab_size": N_WORDS, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 21, "layer_norm_eps": 1e-5,
}  # fmt: skip


def build(kind: type, config: type = RobertaConfig, **settings: Any):
    return lambda: kind(config(**{**SIZES, **settings}))


def case(name: str, model: Any, task: str = "", **parts: Any) -> Case:
    model_type = {"R": "roberta", "X": "xlm-roberta", "C": "camembert"}[name[0]]
    return Case(name, model_type, model, run(task), pad_id=parts.pop("pad_id", 1), **parts)


CASES = [
    case("RoBERTa", build(RobertaModel), "pool",
        wrong={
            "layer_norm_eps": 1e-3, "hidden_act": "gelu_new", "num_attention_heads": 6,
            "is_decoder": True, "num_hidden_layers": 2, "type_vocab_size": 1, "pad_token_id": 0,
            "max_position_embeddings": 22, "position_embedding_type": "relative_key",
        },
    ),
    case("RoBERTa, padding last", build(RobertaModel, pad_token_id=4, type_vocab_size=1,
        max_position_embeddings=24), "pool", pad_id=4, wrong={"pad_token_id": 3}),
    case("RoBERTa for masked tokens", build(RobertaForMaskedLM, hidden_act="relu"), "masked"),
    case("RoBERTa, 3 labels", build(RobertaForSequenceClassification, num_labels=3), "classify"),
    case("RoBERTa, 5 token labels", build(RobertaForTokenClassification, num_labels=5), "tokens"),
    case("RoBERTa for answers", build(RobertaForQuestionAnswering)),
    case("XLM-RoBERTa", build(XLMRobertaModel, XLMRobertaConfig), "pool",
         wrong={"pad_token_id": 0, "hidden_act": "gelu_new"}),
    case("XLM-RoBERTa for masked tokens", build(XLMRobertaForMaskedLM, XLMRobertaConfig),
         "masked"),
    case("XLM-RoBERTa, 5 token labels",
         build(XLMRobertaForTokenClassification, XLMRobertaConfig, num_labels=5), "tokens"),
    case("CamemBERT for masked tokens", build(CamembertForMaskedLM, CamembertConfig), "masked",
         wrong={"pad_token_id": 0, "layer_norm_eps": 1e-3}),
    case("CamemBERT, 3 labels",
         build(CamembertForSequenceClassification, CamembertConfig, num_labels=3), "classify"),
]  # fmt: skip
