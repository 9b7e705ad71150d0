"""ALBERT (Lan et al., 2020, arXiv:1909.11942): one layer used again and again, narrow tables."""

from viz_encoder.checkpoints.family import Family, HeadTable, Json
from viz_encoder.checkpoints.heads import TOKEN_LABELS, masked, pooler, pooler_classes
from viz_encoder.checkpoints.settings import activation, require, sizes
from viz_encoder.config import EncoderConfig, HeadConfig
from viz_encoder.errors import CheckpointError


def _config(file: Json) -> EncoderConfig:
    absolute = "ALBERT is loaded with 'absolute' positions only"
    require(file, "position_embedding_type", "absolute", absolute)
    require(file, "num_hidden_groups", 1, "ALBERT is loaded with one layer shared by all")
    require(file, "inner_group_num", 1, "ALBERT is loaded with one layer shared by all")
    if file["embedding_size"] == file["hidden_size"]:
        # It would still project; our encoder projects only from one width to another.
        raise CheckpointError(
            "config.json says that embedding_size is hidden_size; ALBERT is loaded with a "
            "narrower word table only."
        )
    return EncoderConfig(
        **sizes(file),
        vocab_size=file["vocab_size"],
        n_segments=file["type_vocab_size"],
        d_embed=file["embedding_size"],
        max_positions=file["max_position_embeddings"],
        norm_eps=file["layer_norm_eps"],
        activation=activation(file["hidden_act"]),
        dropout=file["hidden_dropout_prob"],
    )


def _masked(file: Json) -> HeadConfig:
    """As narrow as the word table, which is its decoder."""
    return masked(file, file["embedding_size"], activation(file["hidden_act"]))


FAMILY = Family(
    model_types=("albert",),
    defaults={
        "vocab_size": 30000,
        "embedding_size": 128,
        "hidden_size": 4096,
        "num_hidden_layers": 12,
        "num_hidden_groups": 1,
        "num_attention_heads": 64,
        "intermediate_size": 16384,
        "inner_group_num": 1,
        "hidden_act": "gelu_new",
        "hidden_dropout_prob": 0.0,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "position_embedding_type": "absolute",
        "pad_token_id": 0,
    },
    config=_config,
    optional_prefixes=("albert.", "encoder.albert_layer_groups.0.albert_layers.0."),
    tensors="""
        embeddings.word_embeddings.weight               embed.tokens.word.weight
        embeddings.token_type_embeddings.weight         embed.tokens.segment.weight
        embeddings.position_embeddings.weight           embed.position
        embeddings.position_ids                         -
        embeddings.LayerNorm.*                          embed.norm.*
        encoder.embedding_hidden_mapping_in.*           embed.project.*
        attention.query.*                               layers.all.attn.q.*
        attention.key.*                                 layers.all.attn.k.*
        attention.value.*                               layers.all.attn.v.*
        attention.dense.*                               layers.all.attn.o.*
        attention.LayerNorm.*                           layers.all.attn_norm.*
        ffn.*                                           layers.all.ff.up.*
        ffn_output.*                                    layers.all.ff.down.*
        full_layer_layer_norm.*                         layers.all.ff_norm.*
        sop_classifier.classifier.*                     -
        classifier.*                                    -
        qa_outputs.*                                    -
    """,
    heads=(
        HeadTable(
            _masked,
            """
            predictions.dense.*                         heads.masked.dense.*
            predictions.LayerNorm.*                     heads.masked.norm.*
            predictions.decoder.*                       heads.masked.out.*
            predictions.bias                            heads.masked.out.bias?
            """,
        ),
        HeadTable(
            pooler_classes,
            """
            pooler.*                                    heads.classify.dense.*
            classifier.*                                heads.classify.out.*
            """,
            only_for="ForSequenceClassification",
        ),
        TOKEN_LABELS,
        HeadTable(pooler, "pooler.*                      heads.pool.dense.*"),
    ),
)
FAMILIES = (FAMILY,)
