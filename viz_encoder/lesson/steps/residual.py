"""Step 6, residual and norm: what is added to a token's vector, and how it is put to scale."""

import numpy as np
from jaxtyping import Float

from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import Number
from viz_encoder.lesson.texts import Blocks, Shown, Token


def residual_cell(asked: Asked) -> Number | None:
    """One cell of x plus attention's addend."""
    if asked.way is None:
        return None
    at, vectors = _cell(asked), {one.name: one.vector for one in asked.way}
    x, added = (float(_there(vectors[name])[at]) for name in ("x", "output"))
    return Number(
        x + added,
        decimals=2,
        given={**_where(asked), "x": Shown(x, 3), "added": Shown(added, 3)},
        mistakes={"no_residual": added, "taken_off": x - added, "multiplied": x * added},
        printed=round(x, 3) + round(added, 3),
        cell=at,
    )


def normed_cell(asked: Asked) -> Number | None:
    """One cell before and after the block's first norm."""
    norms = {} if asked.way is None else {one.name: one.norm for one in asked.way}
    norm = norms.get("norm_attention")
    if norm is None:
        return None
    at, mean, std = _cell(asked), norm.mean or 0.0, (norm.std**2 + norm.eps) ** 0.5
    gain = 1.0 if norm.weight is None else float(norm.weight[at])
    shift = 0.0 if norm.bias is None else float(norm.bias[at])
    cell = float(norm.before[at])
    seen = [round(each, 3) for each in (cell, mean, std, gain, shift)]
    given = dict(zip(("x", "mean", "std", "gain", "shift"), seen, strict=True))
    straight = (cell - mean) / std
    return Number(
        straight * gain + shift,
        decimals=2,
        given={
            **_where(asked),
            **{name: Shown(value, 3) for name, value in given.items()},
            "less": Shown(mean, 3, after_sign=True),
            "more": Shown(shift, 3, after_sign=True),
        },
        mistakes={
            "no_gain": straight,
            "no_shift": straight * gain,
            "no_mean": cell / std * gain + shift,
            "variance": (cell - mean) / std**2 * gain + shift,
        },
        printed=(seen[0] - seen[1]) / seen[2] * seen[3] + seen[4],
        variant="root_mean" if norm.mean is None else "",
        cell=at,
    )


def norm_length(asked: Asked) -> Number:
    """Length of any vector after an untrained norm."""
    width = asked.config.d_model
    return Number(
        width**0.5,
        decimals=1,
        given={"width": width},
        mistakes={"width": width, "one": 1.0, "half": width / 2},
    )


def _cell(asked: Asked) -> int:
    return asked.random.randrange(asked.config.d_model) if asked.seat else 0


def _where(asked: Asked) -> dict[str, Token | Blocks | int]:
    return {
        "token": Token(asked.token(asked.query)),
        "blocks": Blocks(asked.layer),
        "cell": _cell(asked),
    }


def _there(vector: Float[np.ndarray, " d_model"] | None) -> Float[np.ndarray, " d_model"]:
    assert vector is not None
    return vector
