"""Step 12, build your own: how many weights an encoder has, and what its length costs."""

from typing import NamedTuple

from viz_encoder.config import EncoderConfig
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import AnswerChoice, Number

N_POSITIONS = 512  # for the mistake of counting a position table


class Sizes(NamedTuple):
    """Sizes that a seat has to build."""

    vocab_size: int = 10_000
    d_model: int = 512
    n_layers: int = 6
    d_ff: int = 2048


def more_heads(asked: Asked) -> AnswerChoice:
    """Effect of twice as many heads on the number of weights."""
    few, many = (_encoder(_sizes(asked), n_heads=n).n_parameters for n in (8, 16))
    answer = ("fewer", "same", "more").index(
        "same" if few == many else "more" if many > few else "fewer"
    )
    return AnswerChoice(
        ("fewer", "same", "more"),
        answer,
        given={"width": _sizes(asked).d_model, "d_head": _sizes(asked).d_model // 8},
        mistakes={"fewer": 0, "more": 2},
    )


def equal_cost(asked: Asked) -> Number:
    """The length at which 2 · T² · D is as much as 2 · T · D · D_ff."""
    config = asked.config
    return Number(
        config.d_ff,
        given={"width": config.d_model, "wide": config.d_ff},
        mistakes={
            "width": config.d_model,
            "root": round(config.d_ff**0.5),
            "product": config.d_model * config.d_ff,
        },
    )


def total_weights(asked: Asked) -> Number:
    """Weights of an encoder with a word table and sinusoidal positions."""
    sizes = _sizes(asked)
    total = _encoder(sizes).n_parameters
    table = sizes.vocab_size * sizes.d_model
    attention = 4 * sizes.d_model**2
    unbiased = table + sizes.n_layers * (attention + 2 * sizes.d_model * sizes.d_ff)
    return Number(
        total,
        given={
            "vocabulary": sizes.vocab_size,
            "width": sizes.d_model,
            "n_layers": sizes.n_layers,
            "wide": sizes.d_ff,
            "table": table,
            "block": (total - table) // sizes.n_layers,
        },
        mistakes={
            "no_table": total - table,
            "no_bias": unbiased,
            "one_block": table + (total - table) // sizes.n_layers,
            "positions": total + N_POSITIONS * sizes.d_model,
            "no_norm": total - sizes.n_layers * 4 * sizes.d_model,
        },
    )


def _sizes(asked: Asked) -> Sizes:
    """The lesson's own sizes, or a seat's."""
    if not asked.seat:
        return Sizes()
    rng = asked.random
    width = rng.choice((256, 384, 512, 640, 768))
    return Sizes(rng.choice((8_000, 10_000, 16_000)), width, rng.randint(4, 12), 4 * width)


def _encoder(sizes: Sizes, n_heads: int = 8) -> EncoderConfig:
    return EncoderConfig.named("original", **sizes._asdict(), n_heads=n_heads)
