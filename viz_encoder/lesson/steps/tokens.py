"""Step 1, tokens: from a text to pieces and their numbers."""

from viz_encoder.config import Embedding, Positions
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import Choice, Exercise, Number, Step
from viz_encoder.lesson.texts import Token


def n_tokens(asked: Asked) -> Number | None:
    """How many tokens the model reads, special ones included."""
    sample = asked.trace.sample
    if not sample.texts:
        return None
    n_special = sum(
        sample.special[at] for at, real in enumerate(asked.trace.valid.tolist()) if real
    )
    words = sum(len(text.split()) for text in sample.texts)
    return Number(
        asked.n_real,
        mistakes={
            "padding": asked.trace.n_tokens,
            "special": asked.n_real - n_special,
            "words": words,
        },
        given={"n_special": n_special},
    )


def table(asked: Asked) -> Number | None:
    """How many numbers the table of words holds."""
    config = asked.config
    if config.embedding is not Embedding.TOKEN:
        return None
    return Number(
        config.vocab_size * config.d_embed,
        given={"rows": config.vocab_size, "width": config.d_embed},
        mistakes={
            "sentence": asked.n_real * config.d_embed,
            "added": config.vocab_size + config.d_embed,
        },
    )


def equal_words(asked: Asked) -> Choice | None:
    """What two equal words at two places have in common before the first block."""
    config, names = asked.config, asked.trace.tokens
    seen: dict[str, int] = {}
    real = asked.trace.valid.nonzero()[:, 0].tolist()
    for second in real:
        name = names[second]
        if name in seen:
            break
        seen[name] = second
    else:
        return None
    if config.embedding is not Embedding.TOKEN:
        return None
    added = config.positions is not Positions.NONE
    return Choice(
        ("id", "row", "all"),
        1 if added else 2,
        given={"token": Token(name), "one": seen[name], "two": second},
        mistakes={"too_few": 0, "too_many": 2 if added else 1},
        variant="" if added else "unplaced",
    )


STEP = Step(
    1,
    (
        Exercise("n-tokens", 1, n_tokens),
        Exercise("table", 2, table),
        Exercise("equal-words", 3, equal_words),
    ),
)
