"""Step 3, queries, keys and values: one row times one column is one number."""

import numpy as np

from viz_encoder.analyses.step import projection_step
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import Number
from viz_encoder.lesson.texts import Shown, Token

N_LARGEST = 3  # products that are written out


def head_width(asked: Asked) -> Number:
    """Width of one head's query."""
    config = asked.config
    return Number(
        config.d_head,
        given={"width": config.d_model, "n_heads": config.n_heads, "inner": _inner(asked)},
        mistakes={"whole": config.d_model, "heads": config.n_heads},
    )


def qkv_weights(asked: Asked) -> Number:
    """Number of weights that make q, k and v in one block."""
    config, inner = asked.config, _inner(asked)
    n_biases = sum(map(config.has_bias, "qkv"))
    one = config.d_model * inner
    return Number(
        3 * one + n_biases * inner,
        given={"width": config.d_model, "inner": inner, "n_biases": n_biases * inner},
        mistakes={
            "no_bias": 3 * one,
            "one_matrix": one + inner,
            "one_head": (3 * one + n_biases * inner) // config.n_heads,
            "output": 4 * one + (n_biases + config.has_bias("o")) * inner,
        },
        variant="" if n_biases else "unbiased",
    )


def one_number(asked: Asked) -> Number | None:
    """One cell of q: the largest products of its row and column, and the rest."""
    at = asked.random.randrange(asked.config.d_head) if asked.seat else 0
    place = (asked.layer, asked.head, asked.query, asked.key)
    found = projection_step(asked.parts, asked.trace, *place)
    x, column = found.x.astype(float), found.weight[at].astype(float)
    bias = 0.0 if found.bias is None else float(found.bias[at])
    products = x * column
    largest = np.argsort(-np.abs(products), kind="stable")[:N_LARGEST]
    rest = float(products.sum() - products[largest].sum())
    seen = [(float(x[i]), float(column[i])) for i in largest]
    printed = sum(round(a, 2) * round(b, 2) for a, b in seen) + round(rest, 2) + round(bias, 2)
    total = float(products.sum()) + bias
    return Number(
        total,
        decimals=1,
        given={
            "token": Token(asked.token(asked.query)),
            "head": asked.name,
            "cell": at,
            "pairs": tuple((Shown(a, 2), "·", Shown(b, 2, after_sign=True)) for a, b in seen),
            "n_rest": len(products) - len(seen),
            "rest": Shown(rest, 2),
            "bias": Shown(bias, 2),
        },
        mistakes={
            "no_bias": total - bias,
            "no_rest": total - rest,
            "signs": float(np.abs(products[largest]).sum()) + rest + bias,
        },
        printed=printed,
        cell=at,
    )


def _inner(asked: Asked) -> int:
    return asked.config.n_heads * asked.config.d_head
