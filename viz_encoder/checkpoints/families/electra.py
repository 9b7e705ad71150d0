"""ELECTRA (Clark et al., 2020, arXiv:2003.10555): trained to see which tokens were replaced."""

from viz_encoder.checkpoints import family, tables
from viz_encoder.checkpoints.family import CarriedHead, Family, Json
from viz_encoder.config import Activation, EncoderConfig, HeadConfig, Task


def _config(file: Json) -> EncoderConfig:
    family.require_absolute(file, "ELECTRA")
    axes = family.text_axes(file, d_embed=file["embedding_size"], causal=file["is_decoder"])
    return EncoderConfig(**axes)


def _replaced(file: Json) -> HeadConfig:
    """The discriminator's: one score a token, above 0 where it was probably replaced."""
    return HeadConfig(
        task=Task.REPLACED,
        d_dense=file["hidden_size"],
        activation=family.activation(file["hidden_act"]),
        n_out=1,
    )


FAMILY = Family(
    model_types=("electra",),
    defaults={
        **tables.BERT_DEFAULTS,
        "embedding_size": 128,
        "hidden_size": 256,
        "num_attention_heads": 4,
        "intermediate_size": 1024,
    },
    config=_config,
    optional_prefixes=("electra.",),
    tensors=tables.BERT
    + tables.NO_HEADS
    + """
        embeddings_project.*                            embed.project.*
        sequence_summary.summary.*                      -  multiple-choice head
    """,
    heads=(
        CarriedHead(
            _replaced,
            """
            discriminator_predictions.dense.*               heads.replaced.dense.*
            discriminator_predictions.dense_prediction.*    heads.replaced.out.*
            """,
        ),
        CarriedHead(
            # The generator's: as narrow as the word table, which is its decoder.
            tables.masked("embedding_size", Activation.GELU),
            """
            generator_predictions.dense.*                   heads.masked.dense.*
            generator_predictions.LayerNorm.*               heads.masked.norm.*
            generator_lm_head.*                             heads.masked.out.*
            """,
        ),
        CarriedHead(tables.first_token_classes(Activation.GELU), tables.DENSE_CLASSES),
        tables.TOKEN_LABELS,
    ),
    wordpiece=True,
)
FAMILIES = (FAMILY,)
