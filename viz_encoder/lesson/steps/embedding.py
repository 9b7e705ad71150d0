"""Step 2, embedding and position: what is added up before the first block."""

import math

from viz_encoder.analyses.step import embedding_step
from viz_encoder.config import Embedding
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import AnswerChoice, Number
from viz_encoder.lesson.texts import Shown, Token


def sum_cell(asked: Asked) -> Number | None:
    """One cell of the token's row plus its position's."""
    found = _cell(asked)
    if found is None:
        return None
    terms, at = found
    total = sum(terms.values())
    return Number(
        total,
        decimals=2,
        given={
            "token": Token(asked.token(asked.query)),
            "place": asked.query,
            "cell": at,
            "terms": tuple((f"{name} =", Shown(value, 2)) for name, value in terms.items()),
        },
        mistakes={
            "token_alone": terms["E"],
            "multiplied": math.prod(terms.values()),
            "difference": terms["E"] - terms["P"],
        },
        printed=sum(round(value, 2) for value in terms.values()),
        cell=at,
    )


def _cell(asked: Asked) -> tuple[dict[str, float], int] | None:
    """The terms of the sum by the letters of their tables, and which cell it is."""
    if asked.config.embedding is Embedding.VECTOR:
        return None
    found = embedding_step(asked.encoder, asked.trace, asked.query, asked.inputs)
    if found.position is None:
        return None
    at = asked.random.randrange(asked.config.d_embed) if asked.seat else 0
    tables = {"E": found.token, "P": found.position, "S": found.segment}
    return {name: float(row[at]) for name, row in tables.items() if row is not None}, at


def swap_words(asked: Asked) -> AnswerChoice | None:
    """Effect of swapping two words without positions."""
    config = asked.config
    own = [at for at, special in enumerate(asked.trace.sample.special) if not special]
    names = [asked.token(at) for at in own]
    ordered = config.causal or config.window is not None
    if config.embedding is Embedding.VECTOR or ordered or len(set(names)) < 2:
        return None
    other = next(at for at in own if asked.token(at) != names[0])
    return AnswerChoice(
        ("swap", "nothing", "all"),
        0,
        given={"one": Token(names[0]), "two": Token(asked.token(other))},
        mistakes={"nothing": 1, "all": 2},
    )


def sine(asked: Asked) -> Number:
    """One cell of the sinusoidal table (Vaswani et al., 2017, arXiv:1706.03762)."""
    place, width = max(1, asked.query), asked.config.d_model
    rate = 10_000 ** (-2 / width)
    angle = place * rate
    return Number(
        math.sin(angle),
        decimals=2,
        given={"place": place, "width": width, "rate": Shown(rate, 4)},
        mistakes={
            "cosine": math.cos(angle),
            "degrees": math.sin(math.radians(angle)),
            "rate": math.sin(place),
        },
        printed=math.sin(place * round(rate, 4)),
    )
