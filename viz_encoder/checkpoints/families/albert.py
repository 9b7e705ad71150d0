"""ALBERT (Lan et al., 2020, arXiv:1909.11942): one layer used again and again, narrow tables."""

from viz_encoder.checkpoints import family, tables
from viz_encoder.checkpoints.family import CarriedHead, Family, Json
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import CheckpointError


def _config(file: Json) -> EncoderConfig:
    family.require_absolute(file, "ALBERT")
    family.require(file, "num_hidden_groups", 1, "ALBERT is loaded with one layer shared by all")
    family.require(file, "inner_group_num", 1, "ALBERT is loaded with one layer shared by all")
    if file["embedding_size"] == file["hidden_size"]:
        # The reference would still project; our encoder projects only between different widths.
        raise CheckpointError(
            "config.json says that embedding_size equals hidden_size; only an ALBERT with a "
            "smaller embedding_size is supported."
        )
    return EncoderConfig(**family.text_axes(file, d_embed=file["embedding_size"]))


FAMILY = Family(
    model_types=("albert",),
    defaults={
        **tables.BERT_DEFAULTS,
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
    tensors=tables.WORDS_AND_POSITIONS
    + tables.SEGMENTS
    + tables.NO_HEADS
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
            tables.masked("embedding_size"),  # as narrow as the word table, its decoder
            """
            predictions.dense.*                         heads.masked.dense.*
            predictions.LayerNorm.*                     heads.masked.norm.*
            predictions.decoder.*                       heads.masked.out.*
            predictions.bias                            heads.masked.out.bias?
            """,
        ),
        CarriedHead(
            tables.pooler_classes,
            """
            pooler.*                                    heads.classify.dense.*
            classifier.*                                heads.classify.out.*
            """,
            only_for="ForSequenceClassification",
        ),
        tables.TOKEN_LABELS,
        CarriedHead(tables.pooler, "pooler.*                      heads.pool.dense.*"),
    ),
)
FAMILIES = (FAMILY,)
