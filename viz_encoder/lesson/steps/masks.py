"""Step 10, masks: who may look where, who can know of whom, and what of that is used."""

import torch

from viz_encoder.config import Embedding
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import Number
from viz_encoder.lesson.pictured import causal_keys, pairs_of_rows
from viz_encoder.lesson.texts import Token
from viz_encoder.model.masks import sliding_window


def causal_cells(asked: Asked) -> Number:
    """Number of pairs a causal mask allows."""
    n = asked.n_real
    return Number(
        n * (n + 1) // 2,
        given={"n": n},
        mistakes={"no_diagonal": n * (n - 1) // 2, "all": n * n, "half": n * n / 2},
    )


def window_reach(asked: Asked) -> Number | None:
    """Number of windowed layers until one token can influence another."""
    if asked.trace.grid is not None:
        return causal_keys(asked)
    key = asked.apart(2)
    distance = abs(asked.query - key)
    if distance < 2 or asked.config.embedding is not Embedding.TOKEN:
        return None
    window = 2 if distance > 2 else 1
    return Number(
        -(-distance // window),
        given={
            "query": Token(asked.token(asked.query)),
            "key": Token(asked.token(key)),
            "distance": distance,
            "window": window,
        },
        mistakes={"distance": distance, "one": 1, "rounded_down": distance // window},
    )


def smallest_window(asked: Asked) -> Number | None:
    """The smallest window with the same prediction as without one."""
    if asked.trace.grid is not None:
        return pairs_of_rows(asked)
    if not asked.answer or not asked.may_rerun or asked.n_real != asked.trace.n_tokens:
        return None
    n = asked.trace.n_tokens
    windows = torch.cat([sliding_window(n, reach) for reach in range(1, n)])
    said = asked.said_with(windows)
    right = [word == asked.answer for word in said]
    smallest = max((at + 1 for at, fine in enumerate(right) if not fine), default=0) + 1
    deciding = asked.deciding
    if smallest >= n or deciding is None:
        return None
    n_layers = asked.trace.n_layers
    reach = -(-abs(asked.query - deciding) // n_layers)
    return Number(
        smallest,
        given={
            "word": Token(asked.answer),
            "query": Token(asked.token(asked.query)),
            "said": tuple((f"{at}:", Token(word)) for at, word in enumerate(said[:smallest], 1)),
            "key": Token(asked.token(deciding)),
            "reach": reach,
            "n_layers": n_layers,
        },
        mistakes={
            "reach": reach,
            "distance": abs(asked.query - deciding),
            "one_less": smallest - 1,
        },
    )
