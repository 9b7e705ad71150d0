"""The twelve steps of the lesson, each with its exercises in the order of their levels."""

from viz_encoder.lesson.carried import sum_of_shares, twin_share
from viz_encoder.lesson.exercise import Ask
from viz_encoder.lesson.steps import (
    attention,
    build,
    depth,
    embedding,
    feed_forward,
    heads,
    knock_out,
    masks,
    pooling,
    projection,
    residual,
    tokens,
)

STEPS: tuple[tuple[Ask, ...], ...] = (
    (tokens.n_tokens, tokens.table, tokens.equal_words),
    (embedding.sum_cell, embedding.swap_words, embedding.sine),
    (projection.head_width, projection.qkv_weights, projection.one_number),
    (attention.score, attention.weight_of_key, attention.key_forbidden, attention.head_that_acts),
    (heads.n_maps, heads.output_weights, heads.longest_sum),
    (residual.residual_cell, residual.normed_cell, residual.norm_length),
    (feed_forward.units_on, feed_forward.ffn_weights, feed_forward.activation),
    (depth.n_states, depth.cosine, depth.settled),
    (
        *(knock_out.deciding_word, knock_out.flips, knock_out.other_word),
        *(sum_of_shares, twin_share),
    ),
    (masks.causal_cells, masks.window_reach, masks.smallest_window),
    (pooling.mean_cell, pooling.patches, pooling.forgotten_mask),
    (build.more_heads, build.equal_cost, build.total_weights),
)
