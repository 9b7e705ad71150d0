"""RoBERTa (Liu et al., 2019, arXiv:1907.11692): BERT, its positions counted from past the padding.

XLM-RoBERTa (Conneau et al., 2020, arXiv:1911.02116) and CamemBERT (Martin et al., 2020,
arXiv:1911.03894) are the same design with other vocabularies.
"""

from reprlib import repr as shown

from torch import Tensor

from viz_encoder.checkpoints.family import Family, HeadTable, Json, Shapes
from viz_encoder.checkpoints.heads import TOKEN_LABELS, masked, pooler, pooler_classes
from viz_encoder.checkpoints.settings import activation, require, sizes
from viz_encoder.checkpoints.tables import BERT
from viz_encoder.config import Activation, EncoderConfig
from viz_encoder.errors import CheckpointError, KeyMismatch

ROWS = "embeddings.position_embeddings.weight"
DEFAULTS = {
    "vocab_size": 50265,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "pad_token_id": 1,
}


def _config(file: Json) -> EncoderConfig:
    absolute = "RoBERTa is loaded with 'absolute' positions only"
    require(file, "position_embedding_type", "absolute", absolute)
    if file["pad_token_id"] is None:
        raise CheckpointError("config.json has no pad_token_id, past which the positions begin.")
    return EncoderConfig(
        **sizes(file),
        vocab_size=file["vocab_size"],
        n_segments=file["type_vocab_size"],
        max_positions=file["max_position_embeddings"] - file["pad_token_id"] - 1,
        norm_eps=file["layer_norm_eps"],
        activation=activation(file["hidden_act"]),
        dropout=file["hidden_dropout_prob"],
        causal=file["is_decoder"],
    )


def _complete(file: Json, found: Shapes) -> Json:
    """Refuse rows other than promised: `_adapt` cuts them, so no later check would see it."""
    promised = file.get("max_position_embeddings", DEFAULTS["max_position_embeddings"])
    for name, shape in found.items():
        if name.endswith(ROWS) and tuple(shape[:1]) != (promised,):
            raise KeyMismatch(
                f"config.json says max_position_embeddings = {shown(promised)}, but the file's "
                f"table is {tuple(shape)}. Check that the two belong together."
            )
    return file


def _adapt(tensors: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
    """Drop the rows up to the padding's, which no real token uses."""
    table = tensors.get("embed.position")
    if table is None:
        return tensors
    return {**tensors, "embed.position": table[len(table) - config.max_positions :]}


TENSORS = (
    BERT
    + """
    classifier.*                                    -
    qa_outputs.*                                    -
"""
)
HEADS = (
    HeadTable(
        lambda file: masked(file, file["hidden_size"], Activation.GELU),
        """
        lm_head.dense.*             heads.masked.dense.*
        lm_head.layer_norm.*        heads.masked.norm.*
        lm_head.decoder.*           heads.masked.out.*
        lm_head.bias                heads.masked.out.bias?
        """,
    ),
    HeadTable(
        pooler_classes,
        """
        classifier.dense.*          heads.classify.dense.*
        classifier.out_proj.*       heads.classify.out.*
        """,
    ),
    TOKEN_LABELS,
    HeadTable(pooler, "pooler.dense.* heads.pool.dense.*"),
)


def _family(model_type: str, vocab_size: int) -> Family:
    return Family(
        model_types=(model_type,),
        defaults={**DEFAULTS, "vocab_size": vocab_size},
        config=_config,
        optional_prefixes=("roberta.",),
        tensors=TENSORS,
        heads=HEADS,
        adapt=_adapt,
        complete=_complete,
        pads_take_no_position=True,
    )


FAMILIES = (
    _family("roberta", 50265),
    _family("xlm-roberta", 30522),
    _family("camembert", 30522),
)
