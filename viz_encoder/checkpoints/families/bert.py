"""BERT (Devlin et al., 2019, arXiv:1810.04805): post-norm, learned positions, two segments."""

from viz_encoder.checkpoints.family import Family, HeadTable, Json
from viz_encoder.checkpoints.heads import TOKEN_LABELS, masked, pooler, pooler_classes
from viz_encoder.checkpoints.settings import activation, require, sizes
from viz_encoder.checkpoints.tables import BERT
from viz_encoder.config import EncoderConfig


def _config(file: Json) -> EncoderConfig:
    absolute = "BERT is loaded with 'absolute' positions only"
    require(file, "position_embedding_type", "absolute", absolute)
    return EncoderConfig(
        **sizes(file),
        vocab_size=file["vocab_size"],
        n_segments=file["type_vocab_size"],
        max_positions=file["max_position_embeddings"],
        norm_eps=file["layer_norm_eps"],
        activation=activation(file["hidden_act"]),
        dropout=file["hidden_dropout_prob"],
        causal=file["is_decoder"],
    )


FAMILY = Family(
    model_types=("bert",),
    defaults={
        "vocab_size": 30522,
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
        "pad_token_id": 0,
    },
    config=_config,
    optional_prefixes=("bert.",),
    tensors=BERT
    + """
        cls.seq_relationship.*                          -
        qa_outputs.*                                    -
        classifier.*                                    -
    """,
    heads=(
        HeadTable(
            lambda file: masked(file, file["hidden_size"], activation(file["hidden_act"])),
            """
            cls.predictions.transform.dense.*        heads.masked.dense.*
            cls.predictions.transform.LayerNorm.*    heads.masked.norm.*
            cls.predictions.decoder.*                heads.masked.out.*
            cls.predictions.bias                     heads.masked.out.bias?
            """,
        ),
        HeadTable(
            pooler_classes,
            """
            pooler.dense.*                           heads.classify.dense.*
            classifier.*                             heads.classify.out.*
            """,
            only_for="ForSequenceClassification",
        ),
        TOKEN_LABELS,
        HeadTable(pooler, "pooler.dense.*                 heads.pool.dense.*"),
    ),
    wordpiece=True,
)
FAMILIES = (FAMILY,)
