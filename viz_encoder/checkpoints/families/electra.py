"""ELECTRA (Clark et al., 2020, arXiv:2003.10555): trained to see which tokens were replaced."""

from viz_encoder.checkpoints.family import Family, HeadTable, Json
from viz_encoder.checkpoints.heads import TOKEN_LABELS, first_token_classes, masked
from viz_encoder.checkpoints.settings import activation, require, sizes
from viz_encoder.checkpoints.tables import BERT
from viz_encoder.config import Activation, EncoderConfig, HeadConfig, Task


def _config(file: Json) -> EncoderConfig:
    absolute = "ELECTRA is loaded with 'absolute' positions only"
    require(file, "position_embedding_type", "absolute", absolute)
    return EncoderConfig(
        **sizes(file),
        vocab_size=file["vocab_size"],
        n_segments=file["type_vocab_size"],
        d_embed=file["embedding_size"],
        max_positions=file["max_position_embeddings"],
        norm_eps=file["layer_norm_eps"],
        activation=activation(file["hidden_act"]),
        dropout=file["hidden_dropout_prob"],
        causal=file["is_decoder"],
    )


def _replaced(file: Json) -> HeadConfig:
    """The discriminator's: one score a token, above 0 where it was probably replaced."""
    return HeadConfig(
        task=Task.REPLACED,
        d_dense=file["hidden_size"],
        activation=activation(file["hidden_act"]),
        n_out=1,
    )


def _masked(file: Json) -> HeadConfig:
    """The generator's: as narrow as the word table, which is its decoder."""
    return masked(file, file["embedding_size"], Activation.GELU)


FAMILY = Family(
    model_types=("electra",),
    defaults={
        "vocab_size": 30522,
        "embedding_size": 128,
        "hidden_size": 256,
        "num_hidden_layers": 12,
        "num_attention_heads": 4,
        "intermediate_size": 1024,
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
    optional_prefixes=("electra.",),
    tensors=BERT
    + """
        embeddings_project.*                            embed.project.*
        sequence_summary.summary.*                      -
        classifier.*                                    -
        qa_outputs.*                                    -
    """,
    heads=(
        HeadTable(
            _replaced,
            """
            discriminator_predictions.dense.*               heads.replaced.dense.*
            discriminator_predictions.dense_prediction.*    heads.replaced.out.*
            """,
        ),
        HeadTable(
            _masked,
            """
            generator_predictions.dense.*                   heads.masked.dense.*
            generator_predictions.LayerNorm.*               heads.masked.norm.*
            generator_lm_head.*                             heads.masked.out.*
            """,
        ),
        HeadTable(
            lambda file: first_token_classes(file, file["hidden_size"], Activation.GELU),
            """
            classifier.dense.*                              heads.classify.dense.*
            classifier.out_proj.*                           heads.classify.out.*
            """,
        ),
        TOKEN_LABELS,
    ),
    wordpiece=True,
)
FAMILIES = (FAMILY,)
