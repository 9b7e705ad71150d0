"""BERT (Devlin et al., 2019, arXiv:1810.04805): post-norm, learned positions, two segments."""

from viz_encoder.checkpoints import family, tables
from viz_encoder.checkpoints.family import CarriedHead, Family, Json
from viz_encoder.config import EncoderConfig


def _config(file: Json) -> EncoderConfig:
    family.require_absolute(file, "BERT")
    return EncoderConfig(**family.text_axes(file, causal=file["is_decoder"]))


FAMILY = Family(
    model_types=("bert",),
    defaults=tables.BERT_DEFAULTS,
    config=_config,
    optional_prefixes=("bert.",),
    tensors=tables.BERT + tables.NO_HEADS + "cls.seq_relationship.* - next-sentence head",
    heads=(
        CarriedHead(
            tables.masked(),
            """
            cls.predictions.transform.dense.*        heads.masked.dense.*
            cls.predictions.transform.LayerNorm.*    heads.masked.norm.*
            cls.predictions.decoder.*                heads.masked.out.*
            cls.predictions.bias                     heads.masked.out.bias?
            """,
        ),
        tables.BERT_CLASSES,
        tables.TOKEN_LABELS,
        tables.BERT_POOLER,
    ),
    wordpiece=True,
)
FAMILIES = (FAMILY,)
