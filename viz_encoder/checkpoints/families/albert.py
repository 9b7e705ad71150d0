"""ALBERT (Lan et al., 2020, arXiv:1909.11942): one layer used again and again, narrow tables."""

from viz_encoder.checkpoints.family import (
    CarriedHead,
    Family,
    Json,
    activation,
    require,
    require_absolute,
    text_axes,
)
from viz_encoder.checkpoints.tables import (
    BERT_DEFAULTS,
    NO_HEADS,
    SEGMENTS,
    TOKEN_LABELS,
    WORDS_AND_POSITIONS,
    masked,
    pooler,
    pooler_classes,
)
from viz_encoder.config import EncoderConfig, HeadConfig
from viz_encoder.errors import CheckpointError


def _config(file: Json) -> EncoderConfig:
    require_absolute(file, "ALBERT")
    require(file, "num_hidden_groups", 1, "ALBERT is loaded with one layer shared by all")
    require(file, "inner_group_num", 1, "ALBERT is loaded with one layer shared by all")
    if file["embedding_size"] == file["hidden_size"]:
        # The reference would still project; our encoder projects only between different widths.
        raise CheckpointError(
            "config.json says that embedding_size equals hidden_size; only an ALBERT with a "
            "smaller embedding_size is supported."
        )
    return EncoderConfig(
        **text_axes(file),
        n_segments=file["type_vocab_size"],
        d_embed=file["embedding_size"],
        max_positions=file["max_position_embeddings"],
    )


def _masked(file: Json) -> HeadConfig:
    """As narrow as the word table, which serves as its decoder."""
    return masked(file, file["embedding_size"], activation(file["hidden_act"]))


FAMILY = Family(
    model_types=("albert",),
    defaults={
        **BERT_DEFAULTS,
        "vocab_size": 30000,
        "embedding_size": 128,
        "hidden_size": 4096,
        "num_hidden_groups": 1,
        "num_attention_heads": 64,
        "intermediate_size": 16384,
        "inner_group_num": 1,
        "hidden_act": "gelu_new",
        "hidden_dropout_prob": 0.0,
    },
    config=_config,
    optional_prefixes=("albert.", "encoder.albert_layer_groups.0.albert_layers.0."),
    tensors=WORDS_AND_POSITIONS
    + SEGMENTS
    + NO_HEADS
    + """
        encoder.embedding_hidden_mapping_in.*           embed.project.*
        attention.query.*                               layers.all.attn.q.*
        attention.key.*                                 layers.all.attn.k.*
        attention.value.*                               layers.all.attn.v.*
        attention.dense.*                               layers.all.attn.o.*
        attention.LayerNorm.*                           layers.all.attn_norm.*
        ffn.*                                           layers.all.ff.up.*
        ffn_output.*                                    layers.all.ff.down.*
        full_layer_layer_norm.*                         layers.all.ff_norm.*
        sop_classifier.classifier.*                     -  sentence-order head
    """,
    heads=(
        CarriedHead(
            _masked,
            """
            predictions.dense.*                         heads.masked.dense.*
            predictions.LayerNorm.*                     heads.masked.norm.*
            predictions.decoder.*                       heads.masked.out.*
            predictions.bias                            heads.masked.out.bias?
            """,
        ),
        CarriedHead(
            pooler_classes,
            """
            pooler.*                                    heads.classify.dense.*
            classifier.*                                heads.classify.out.*
            """,
            only_for="ForSequenceClassification",
        ),
        TOKEN_LABELS,
        CarriedHead(pooler, "pooler.*                      heads.pool.dense.*"),
    ),
)
FAMILIES = (FAMILY,)
