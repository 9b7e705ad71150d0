"""MPNet (Song et al., 2020, arXiv:2004.09297): learned positions, and distances in the scores."""

from torch import Tensor

from viz_encoder.checkpoints.family import Family, Json, require, text_axes
from viz_encoder.checkpoints.tables import (
    BERT_POOLER,
    BERT_SIZES,
    FEED_FORWARD,
    MASKED_GELU,
    NO_HEADS,
    ROBERTA_CLASSES,
    TOKEN_LABELS,
    WORDS_AND_POSITIONS,
)
from viz_encoder.config import EncoderConfig

FIRST_ROW = 2  # position row of the first token, whatever pad_token_id is
BUCKETS, FURTHEST = 32, 128  # the reference counts with these, whatever config.json says


def _config(file: Json) -> EncoderConfig:
    buckets = f"for MPNet, only {BUCKETS} distance buckets are supported"
    require(file, "relative_attention_num_buckets", BUCKETS, buckets)
    require(file, "pad_token_id", FIRST_ROW - 1, "MPNet counts positions past id 1, its padding")
    return EncoderConfig(
        **text_axes(file),
        n_segments=0,
        max_positions=file["max_position_embeddings"] - FIRST_ROW,
        relative_buckets=BUCKETS,
        relative_distance=FURTHEST,
    )


def _adapt(tensors: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
    """Drop the rows up to the padding's, which no real token uses."""
    table = tensors.get("embed.position")
    if table is None or not table.ndim:
        return tensors
    return {**tensors, "embed.position": table[FIRST_ROW:]}


FAMILY = Family(
    model_types=("mpnet",),
    defaults={
        **BERT_SIZES,
        "vocab_size": 30527,
        "relative_attention_num_buckets": 32,
        "pad_token_id": 1,
    },
    config=_config,
    optional_prefixes=("mpnet.",),
    tensors=WORDS_AND_POSITIONS
    + FEED_FORWARD
    + NO_HEADS
    + """
        encoder.relative_attention_bias.weight          relative
        encoder.layer.#.attention.attn.q.*              layers.#.attn.q.*
        encoder.layer.#.attention.attn.k.*              layers.#.attn.k.*
        encoder.layer.#.attention.attn.v.*              layers.#.attn.v.*
        encoder.layer.#.attention.attn.o.*              layers.#.attn.o.*
        encoder.layer.#.attention.LayerNorm.*           layers.#.attn_norm.*
    """,
    heads=(MASKED_GELU, ROBERTA_CLASSES, TOKEN_LABELS, BERT_POOLER),
    pads_take_no_position=True,
    adapt=_adapt,
)
FAMILIES = (FAMILY,)
