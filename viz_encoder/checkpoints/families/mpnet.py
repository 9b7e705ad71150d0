"""MPNet (Song et al., 2020, arXiv:2004.09297): learned positions, and distances in the scores."""

from viz_encoder.checkpoints import tables
from viz_encoder.checkpoints.family import Family, Json, require, text_axes
from viz_encoder.config import EncoderConfig

FIRST_ROW = 2  # position row of the first token, whatever pad_token_id is
BUCKETS, FURTHEST = 32, 128  # the reference counts with these, whatever config.json says


def _config(file: Json) -> EncoderConfig:
    buckets = f"for MPNet, only {BUCKETS} distance buckets are supported"
    require(file, "relative_attention_num_buckets", BUCKETS, buckets)
    require(file, "pad_token_id", FIRST_ROW - 1, "MPNet counts positions past id 1, its padding")
    n_positions = file["max_position_embeddings"] - FIRST_ROW
    return EncoderConfig(
        **text_axes(file, n_segments=0, max_positions=n_positions),
        relative_buckets=BUCKETS,
        relative_distance=FURTHEST,
    )


FAMILY = Family(
    model_types=("mpnet",),
    defaults={
        **tables.BERT_SIZES,
        "vocab_size": 30527,
        "relative_attention_num_buckets": 32,
        "pad_token_id": 1,
    },
    config=_config,
    optional_prefixes=("mpnet.",),
    tensors=tables.WORDS_AND_POSITIONS
    + tables.FEED_FORWARD
    + tables.NO_HEADS
    + """
        encoder.relative_attention_bias.weight          relative
        encoder.layer.#.attention.attn.q.*              layers.#.attn.q.*
        encoder.layer.#.attention.attn.k.*              layers.#.attn.k.*
        encoder.layer.#.attention.attn.v.*              layers.#.attn.v.*
        encoder.layer.#.attention.attn.o.*              layers.#.attn.o.*
        encoder.layer.#.attention.LayerNorm.*           layers.#.attn_norm.*
    """,
    heads=(tables.MASKED_GELU, tables.ROBERTA_CLASSES, tables.TOKEN_LABELS, tables.BERT_POOLER),
    pads_take_no_position=True,
    complete=tables.require_positions,
    adapt=tables.past_padding,
)
FAMILIES = (FAMILY,)
