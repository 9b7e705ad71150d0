"""Step 7, the feed-forward network: units that are on, their weights, and their curve."""

import numpy as np
import torch
from jaxtyping import Float

from viz_encoder.config import Activation
from viz_encoder.config.anatomy import FORMULAS, NAMES
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import Number
from viz_encoder.lesson.texts import Shown, Token
from viz_encoder.model.block import ACTIVATIONS

SHOWN_AT = -0.7  # the unit nearest to it is asked about: there the curves differ
FACTOR = {  # factor of x, in the usual notation
    Activation.RELU: "1[x > 0]",
    Activation.GELU: "Φ(x)",
    Activation.GELU_TANH: "Φ(x)",
    Activation.QUICK_GELU: "σ(1.702 x)",
    Activation.SILU: "σ(x)",
}


def units_on(asked: Asked) -> Number | None:
    """Percentage of active units."""
    before = _before(asked)
    if before is None:
        return None
    n_on, n_units = int((before > 0).sum()), len(before)
    share = 100 * n_on / n_units
    return Number(
        share,
        given={"token": Token(asked.token(asked.query)), "n_on": n_on, "n_units": n_units},
        mistakes={"share": share / 100, "off": 100 - share, "count": n_on},
        unit="%",
    )


def ffn_weights(asked: Asked) -> Number:
    """Number of weights in one block's feed-forward network."""
    config = asked.config
    one = config.d_model * config.d_ff
    n_matrices = 3 if config.gated else 2
    wide = ("up", "gate") if config.gated else ("up",)
    n_biases = sum(map(config.has_bias, wide)) * config.d_ff
    n_biases += config.d_model * config.has_bias("down")
    return Number(
        n_matrices * one + n_biases,
        given={
            "width": config.d_model,
            "wide": config.d_ff,
            "n_matrices": n_matrices,
            "n_biases": n_biases,
        },
        mistakes={
            "no_bias": n_matrices * one,
            "one_matrix": one + config.d_ff,
            "no_gate": 2 * one + n_biases,
            "tokens": (n_matrices * one + n_biases) * asked.n_real,
        },
        variant="gated" if config.gated else "",
    )


def activation(asked: Asked) -> Number | None:
    """Activation output of one unit."""
    before, kind = _before(asked), asked.config.activation
    if before is None or kind not in FACTOR:
        return None
    unit = int(np.abs(before - SHOWN_AT).argmin())
    x = float(before[unit])
    y = float(ACTIVATIONS[kind](torch.tensor(x)))
    factor = y / x if x else 0.0
    return Number(
        y,
        decimals=2,
        given={
            "name": NAMES[kind],
            "formula": FORMULAS[kind],
            "unit": unit,
            "x": Shown(x, 2),
            "sign": FACTOR[kind],
            "factor": Shown(factor, 3),
        },
        mistakes={"relu": max(0.0, x), "factor": factor, "unchanged": x, "positive": -y},
        printed=round(x, 2) * round(factor, 3),
        cell=unit,
    )


def _before(asked: Asked) -> Float[np.ndarray, " unit"] | None:
    """The query's activation inputs."""
    if asked.way is None:
        return None
    found = asked.way.feed_forward
    return found.before if found.gate is None else found.gate
