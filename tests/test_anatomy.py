"""What the page says an encoder is made of follows its config, axis by axis."""

import pytest

import viz_encoder as vz
from viz_encoder.config.anatomy import anatomy

SIZES = {"n_layers": 2, "n_heads": 2, "d_model": 8, "d_ff": 12, "vocab_size": 9}


def said(**axes) -> dict[str, str]:
    parts = anatomy(vz.EncoderConfig(**{**SIZES, **axes}))
    return {part.name: f"{part.words} | {part.equation}" for part in parts}


@pytest.mark.parametrize(
    ("axes", "name", "words"),
    [
        ({}, "Blocks", "post-norm | x ← norm(x + f(x))"),
        ({"norm_placement": "pre"}, "Blocks", "pre-norm | x ← x + f(norm(x))"),
        ({"norm": "rms", "norm_eps": 1e-6}, "Norm", "RMSNorm, ε = 1e-06"),
        ({"unbiased": ["norm"]}, "Norm", "√(var + ε)"),
        ({"positions": "none"}, "Positions", "does not know the order"),
        ({"positions": "none", "rotary_base": 160000.0}, "Positions", "base 160,000"),
        ({"relative_buckets": 32}, "Positions", "each of 32 distance buckets"),
        ({"activation": "gelu_tanh"}, "Feed-forward", "GELU (tanh approximation)"),
        ({"gated": True}, "Feed-forward", "act(W_G x)"),
        ({"causal": True}, "Mask", "k > q: A[q, k] = 0"),
        ({"window": 3, "global_layers": [0]}, "Mask", "within 3 tokens, except in layers 0"),
        ({"scale": 1.0}, "Attention", "softmax(Q Kᵀ)"),
        ({"unbiased": ["k"]}, "Attention", "no bias in k"),
        ({"d_embed": 4}, "Input", "projected from 4 to 8"),
        ({"embedding": "patch", "prefix": ["[CLS]"]}, "Input", "16 × 16 after [CLS]"),
        ({"embedding": "vector"}, "Input", "vectors of 8 numbers"),
        ({"final_norm": True}, "Final norm", "output = norm(x)"),
        (
            {"prediction_heads": [{"task": "masked", "n_out": 9}]},
            "Prediction head: masked",
            "each [MASK]",
        ),
        (
            {"prediction_heads": [{"task": "pool", "pool": "cls"}]},
            "Prediction head: pool",
            "one vector for the input | ",
        ),
        (
            {"prediction_heads": [{"task": "pool", "pool": "probe"}]},
            "Prediction head: pool",
            "learned query that looks",
        ),
    ],
)
def test_each_axis_is_said(axes, name, words):
    assert words in said(**axes)[name]


def test_nothing_is_said_that_is_not_there():
    plain = said()
    assert "Final norm" not in plain and not any(name.startswith("Head") for name in plain)
    assert "window" not in plain["Mask"] and "gated" not in plain["Feed-forward"]
