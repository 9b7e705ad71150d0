"""BERT (Devlin et al., 2019, arXiv:1810.04805): post-norm, learned positions, two segments."""

from viz_encoder.checkpoints.family import (
    CarriedHead,
    Family,
    Json,
    activation,
    require_absolute,
    text_axes,
)
from viz_encoder.checkpoints.tables import (
    BERT,
    BERT_CLASSES,
    BERT_DEFAULTS,
    BERT_POOLER,
    NO_HEADS,
    TOKEN_LABELS,
    masked,
)
from viz_encoder.config import EncoderConfig


def _config(file: Json) -> EncoderConfig:
    require_absolute(file, "BERT")
    return EncoderConfig(
        **text_axes(file),
        n_segments=file["type_vocab_size"],
        max_positions=file["max_position_embeddings"],
        causal=file["is_decoder"],
    )


FAMILY = Family(
    model_types=("bert",),
    defaults=BERT_DEFAULTS,
    config=_config,
    optional_prefixes=("bert.",),
    tensors=BERT + NO_HEADS + "cls.seq_relationship.* - next-sentence head",
    heads=(
        CarriedHead(
            lambda file: masked(file, file["hidden_size"], activation(file["hidden_act"])),
            """
            cls.predictions.transform.dense.*        heads.masked.dense.*
            cls.predictions.transform.LayerNorm.*    heads.masked.norm.*
            cls.predictions.decoder.*                heads.masked.out.*
            cls.predictions.bias                     heads.masked.out.bias?
            """,
        ),
        BERT_CLASSES,
        TOKEN_LABELS,
        BERT_POOLER,
    ),
    wordpiece=True,
)
FAMILIES = (FAMILY,)
