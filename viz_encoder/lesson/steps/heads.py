"""Step 5, heads and W_O: what each head adds, and how it is put together."""

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.step import heads_step
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import Number
from viz_encoder.lesson.texts import Blocks, Shown, Token

MOST_LISTED = 16


def n_maps(asked: Asked) -> Number:
    """Number of attention maps in one run."""
    n_layers, n_heads = asked.trace.n_layers, asked.trace.n_heads
    return Number(
        n_layers * n_heads,
        given={"n_layers": n_layers, "n_heads": n_heads},
        mistakes={
            "one_block": n_heads,
            "added": n_layers + n_heads,
            "tokens": n_layers * n_heads * asked.n_real,
        },
    )


def output_weights(asked: Asked) -> Number:
    """Number of weights in W_O."""
    config = asked.config
    inner, width = config.n_heads * config.d_head, config.d_model
    bias = width * config.has_bias("o")
    return Number(
        inner * width + bias,
        given={"inner": inner, "width": width, "n_heads": config.n_heads, "n_biases": bias},
        mistakes={
            "no_bias": inner * width,
            "one_head": config.d_head * width + bias,
            "square_of_head": config.d_head**2 * config.n_heads,
        },
        variant="" if bias else "unbiased",
    )


def longest_sum(asked: Asked) -> Number | None:
    """Length of the heads' sum if all parts pointed the same way."""
    if asked.parts is None or not 2 <= asked.trace.n_heads <= MOST_LISTED:
        return None
    parts = _head_parts(asked)
    lengths = np.linalg.norm(parts, axis=1).tolist()
    return Number(
        sum(lengths),
        decimals=1,
        given={
            "token": Token(asked.token(asked.query)),
            "blocks": Blocks(asked.layer),
            "lengths": tuple(Shown(each, 1) for each in lengths),
            "real": Shown(float(np.linalg.norm(parts.sum(axis=0))), 1),
        },
        mistakes={
            "real": float(np.linalg.norm(parts.sum(axis=0))),
            "right_angles": sum(each**2 for each in lengths) ** 0.5,
            "mean": sum(lengths) / len(lengths),
        },
        printed=sum(round(each, 1) for each in lengths),
    )


def _head_parts(asked: Asked) -> Float[np.ndarray, "head d_model"]:
    """Each head's part of the query's attention output through W_O, without the bias."""
    return heads_step(asked.parts, asked.trace, asked.layer, asked.query).parts.astype(float)
