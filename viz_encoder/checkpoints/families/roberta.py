"""RoBERTa (Liu et al., 2019, arXiv:1907.11692): BERT, its positions counted from past the padding.

XLM-RoBERTa (Conneau et al., 2020, arXiv:1911.02116) and CamemBERT (Martin et al., 2020,
arXiv:1911.03894) are the same design with other vocabularies.
"""

from reprlib import repr as shown

from torch import Tensor

from viz_encoder.checkpoints.family import Family, Json, Shapes, require_absolute, text_axes
from viz_encoder.checkpoints.tables import (
    BERT,
    BERT_DEFAULTS,
    BERT_POOLER,
    MASKED_GELU,
    NO_HEADS,
    ROBERTA_CLASSES,
    TOKEN_LABELS,
)
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import CheckpointError, KeyMismatch

ROWS = "embeddings.position_embeddings.weight"
DEFAULTS = {**BERT_DEFAULTS, "pad_token_id": 1}


def _config(file: Json) -> EncoderConfig:
    require_absolute(file, "RoBERTa")
    if file["pad_token_id"] is None:
        raise CheckpointError(
            "config.json has no pad_token_id; this model's positions are counted from the id "
            "after it."
        )
    return EncoderConfig(
        **text_axes(file),
        n_segments=file["type_vocab_size"],
        max_positions=file["max_position_embeddings"] - file["pad_token_id"] - 1,
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


def _family(model_type: str, vocab_size: int) -> Family:
    return Family(
        model_types=(model_type,),
        defaults={**DEFAULTS, "vocab_size": vocab_size},
        config=_config,
        optional_prefixes=("roberta.",),
        tensors=BERT + NO_HEADS,
        heads=(MASKED_GELU, ROBERTA_CLASSES, TOKEN_LABELS, BERT_POOLER),
        adapt=_adapt,
        complete=_complete,
        pads_take_no_position=True,
    )


FAMILIES = (
    _family("roberta", 50265),
    _family("xlm-roberta", 30522),
    _family("camembert", 30522),
)
