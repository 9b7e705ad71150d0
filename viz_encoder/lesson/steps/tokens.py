"""Step 1, tokens: from a text to pieces and their numbers."""

from viz_encoder.config import Embedding, EncoderConfig, Positions
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import AnswerChoice, Number
from viz_encoder.lesson.texts import Token


def n_tokens(asked: Asked) -> Number | None:
    """Number of tokens the model reads, including special ones."""
    sample, grid = asked.trace.sample, asked.trace.grid
    if grid is not None:
        rows, cols, n_prefix = grid.n_rows, grid.n_cols, grid.n_prefix
        return Number(
            rows * cols + n_prefix,
            given={"rows": rows, "cols": cols, "n_prefix": n_prefix},
            mistakes={"special": rows * cols, "added": rows + cols + n_prefix},
            variant="picture",
        )
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
    """Number of entries in the word table."""
    config = asked.config
    if config.embedding is Embedding.PATCH:
        return _patch_weights(config)
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


def _patch_weights(config: EncoderConfig) -> Number:
    side, channels, width = config.patch_size, config.n_channels, config.d_embed
    one = side * side * channels * width
    bias = width * config.has_bias("patch")
    return Number(
        one + bias,
        given={"side": side, "channels": channels, "width": width, "n_biases": bias},
        mistakes={
            "no_bias": one,
            "one_side": side * channels * width + bias,
            "added": side * side * channels + width,
        },
        variant="picture",
    )


def equal_words(asked: Asked) -> AnswerChoice | Number | None:
    """What two equal words at different positions share; for images, a patch's token index."""
    if asked.trace.grid is not None:
        return _place_of_patch(asked)
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
    return AnswerChoice(
        ("id", "row", "all"),
        1 if added else 2,
        given={"token": Token(name), "one": seen[name], "two": second},
        mistakes={"too_few": 0, "too_many": 2 if added else 1},
        variant="" if added else "unplaced",
    )


def _place_of_patch(asked: Asked) -> Number | None:
    grid = asked.trace.grid
    assert grid is not None
    first = max(asked.query - grid.n_prefix, 0)
    row, col = divmod(first, grid.n_cols)
    if asked.seat or row == col:  # then row and column could be taken for each other
        row, col = 1 + asked.random.randrange(grid.n_rows - 1), asked.random.randrange(grid.n_cols)
        col = (col + (row == col)) % grid.n_cols
    return Number(
        grid.n_prefix + row * grid.n_cols + col,
        given={"row": row, "col": col, "n_prefix": grid.n_prefix, "n_cols": grid.n_cols},
        mistakes={
            "special": row * grid.n_cols + col,
            "turned": grid.n_prefix + col * grid.n_cols + row,
            "added": grid.n_prefix + row + col,
        },
        variant="picture",
    )
