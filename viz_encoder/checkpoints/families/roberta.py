"""RoBERTa (Liu et al., 2019, arXiv:1907.11692): BERT, its positions counted from past the padding.

XLM-RoBERTa (Conneau et al., 2020, arXiv:1911.02116) and CamemBERT (Martin et al., 2020,
arXiv:1911.03894) are the same design with other vocabularies.
"""

from viz_encoder.checkpoints import tables
from viz_encoder.checkpoints.family import Family, Json, require_absolute, text_axes
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import CheckpointError

DEFAULTS = {**tables.BERT_DEFAULTS, "pad_token_id": 1}


def _config(file: Json) -> EncoderConfig:
    require_absolute(file, "RoBERTa")
    if file["pad_token_id"] is None:
        raise CheckpointError(
            "config.json has no pad_token_id; this model's positions are counted from the id "
            "after it."
        )
    n_positions = file["max_position_embeddings"] - file["pad_token_id"] - 1
    axes = text_axes(file, max_positions=n_positions, causal=file["is_decoder"])
    return EncoderConfig(**axes)


def _family(model_type: str, vocab_size: int) -> Family:
    return Family(
        model_types=(model_type,),
        defaults={**DEFAULTS, "vocab_size": vocab_size},
        config=_config,
        optional_prefixes=("roberta.",),
        tensors=tables.BERT + tables.NO_HEADS,
        heads=(tables.MASKED_GELU, tables.ROBERTA_CLASSES, tables.TOKEN_LABELS, tables.BERT_POOLER),
        adapt=tables.past_padding,
        complete=tables.require_positions,
        pads_take_no_position=True,
    )


FAMILIES = (
    _family("roberta", 50265),
    _family("xlm-roberta", 30522),
    _family("camembert", 30522),
)
