"""Step 6, residual and norm: what is added to a token's vector, and how it is put to scale."""

import torch
from torch import nn

from viz_encoder.config import Norm
from viz_encoder.lesson.asked import Asked
from viz_encoder.lesson.exercise import Exercise, Number, Step
from viz_encoder.lesson.texts import Shown, Token


def residual_cell(asked: Asked) -> Number | None:
    """One cell of x plus what attention adds to it."""
    if asked.parts is None:
        return None
    at = _cell(asked)
    x = float(asked.parts.x[asked.query, at])
    added = float(asked.parts.attention[asked.query, at])
    return Number(
        x + added,
        decimals=2,
        given={**_where(asked), "x": Shown(x, 2), "added": Shown(added, 2)},
        mistakes={"no_residual": added, "taken_off": x - added, "multiplied": x * added},
        printed=round(x, 2) + round(added, 2),
    )


def normed_cell(asked: Asked) -> Number | None:
    """One cell before and after the block's first norm."""
    if asked.parts is None:
        return None
    block = asked.block
    if isinstance(block.attn_norm, nn.Identity):
        return None
    with torch.inference_mode():
        x = asked.parts.x if block.pre_norm else asked.parts.x + asked.parts.attention
        vector = x[asked.query].double().cpu()
    at, root_mean = _cell(asked), asked.config.norm is Norm.RMS
    mean = 0.0 if root_mean else float(vector.mean())
    std = float(((vector - mean) ** 2).mean() + asked.config.norm_eps) ** 0.5
    gain, shift = _learned(block.attn_norm, at)
    cell = float(vector[at])
    seen = [round(each, 3) for each in (cell, mean, std, gain, shift)]
    given = dict(zip(("x", "mean", "std", "gain", "shift"), seen, strict=True))
    straight = (cell - mean) / std
    return Number(
        straight * gain + shift,
        decimals=2,
        given={**_where(asked), **{name: Shown(value, 3) for name, value in given.items()}},
        mistakes={
            "no_gain": straight,
            "no_shift": straight * gain,
            "no_mean": cell / std * gain + shift,
            "variance": (cell - mean) / std**2 * gain + shift,
        },
        printed=(seen[0] - seen[1]) / seen[2] * seen[3] + seen[4],
        variant="root_mean" if root_mean else "",
    )


def norm_length(asked: Asked) -> Number:
    """How long any vector is after a norm that learned nothing yet."""
    width = asked.config.d_model
    return Number(
        width**0.5,
        decimals=1,
        given={"width": width},
        mistakes={"width": width, "one": 1.0, "half": width / 2},
    )


def _cell(asked: Asked) -> int:
    return asked.random.randrange(asked.config.d_model) if asked.seat else 0


def _where(asked: Asked) -> dict[str, Token | int]:
    return {
        "token": Token(asked.token(asked.query)),
        "block": asked.layer,
        "cell": _cell(asked),
    }


def _learned(norm: nn.Module, at: int) -> tuple[float, ...]:
    """γ and β of one cell; 1 and 0 where the norm has none."""
    gain, shift = getattr(norm, "weight", None), getattr(norm, "bias", None)
    return tuple(
        usual if learned is None else float(learned.detach()[at])
        for learned, usual in ((gain, 1.0), (shift, 0.0))
    )


STEP = Step(
    6,
    (
        Exercise("residual-cell", 1, residual_cell),
        Exercise("normed-cell", 2, normed_cell),
        Exercise("norm-length", 3, norm_length),
    ),
)
