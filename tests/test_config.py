"""EncoderConfig: what it counts is what is built, and nonsense is refused in a sentence."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import viz_encoder as vz
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import ConfigError
from viz_encoder.model import Encoder

SMALL = {"n_layers": 2, "n_heads": 2, "d_model": 8, "d_ff": 12, "vocab_size": 11}


@given(
    st.fixed_dictionaries(
        {
            "embedding": st.sampled_from(["token", "patch", "vector"]),
            "positions": st.sampled_from(["learned", "sinusoidal", "none"]),
            "norm_placement": st.sampled_from(["pre", "post"]),
            "bias": st.booleans(),
            "embed_norm": st.booleans(),
            "final_norm": st.booleans(),
            "n_segments": st.integers(0, 2),
            "prefix": st.sampled_from([(), ("[CLS]",), ("[CLS]", "[REG]")]),
            "gated": st.booleans(),
            "prediction_heads": st.sampled_from(
                [
                    (),
                    ({"task": "classify", "pool": "cls", "n_out": 3},),
                    ({"task": "pool", "pool": "probe", "n_out": 3},),
                ]
            ),
        }
    )
)
def test_it_counts_the_parameters_that_are_built(axes):
    config = EncoderConfig(**SMALL, max_positions=5, image_size=(8, 12), patch_size=4, **axes)
    assert config.n_parameters == sum(p.numel() for p in Encoder(config).parameters())


@pytest.mark.parametrize(
    ("size", "sizes", "n_words", "activation"),
    [
        ("original", (512, 8, 2048, 6), 10_000, "relu"),
        ("small", (256, 8, 1024, 6), 30_522, "gelu"),
        ("base", (768, 12, 3072, 12), 30_522, "gelu"),
    ],
)
def test_a_named_size_is_torch_s_encoder_after_a_table_of_words(size, sizes, n_words, activation):
    """In the number of weights, and in every axis of its blocks."""
    *shape, n_layers = sizes
    with torch.device("meta"):
        layer = nn.TransformerEncoderLayer(*shape, activation=activation, batch_first=True)
        parts = [nn.TransformerEncoder(layer, n_layers), nn.Embedding(n_words, shape[0])]
    n_weights = sum(p.numel() for part in parts for p in part.parameters())
    config = EncoderConfig.named(size)
    if config.positions == "learned":
        n_weights += config.max_positions * shape[0]
    assert config.n_parameters == n_weights
    assert size != "original" or n_weights == 24_034_304
    small = nn.TransformerEncoderLayer(16, 2, 24, activation=activation, batch_first=True)
    read = vz.load(nn.TransformerEncoder(small, 2, enable_nested_tensor=False).eval()).config
    axes = "norm norm_placement norm_eps embed_norm final_norm activation gated bias unbiased scale"
    for axis in axes.split():
        assert getattr(config, axis) == getattr(read, axis), axis


NONSENSE = [
    ({"d_model": 10, "n_heads": 3}, "multiple of 3"),
    ({"n_layers": 0}, "n_layers is 0"),
    ({"dropout": 1.5}, "dropout is 1.5"),
    ({"norm_eps": 0.0}, "norm_eps is 0.0; it must be a number above 0"),
    ({"activation": "swish"}, "choose one of relu, gelu, gelu_tanh"),
    ({"window": 0}, "window is 0"),
    ({"embedding": "patch", "image_size": (30, 32), "patch_size": 4}, "multiples of 4"),
    ({"embedding": "patch", "image_size": (32,), "patch_size": 4}, "image_size is"),
    ({"n_layers": 10**400}, "n_layers is a number of more"),
    ({"vocab_size": "x" * 10**6}, r"vocab_size is 'x+…'; it"),
    ({"n_segments": -1}, "at least 0"),
    ({"bias": "yes"}, "bias is 'yes'; it must be True or False"),
    ({"prediction_heads": "abc"}, "prediction_heads is 'abc'; it must be a list of HeadConfig"),
    ({"prediction_heads": (1, 2)}, "prediction_heads holds 1"),
    ({"image_size": None}, "image_size is None; it must be"),
    ({"n_layers": 12, "global_layers": (99,)}, "no global layer 99; choose 0 to 11"),
    ({"unbiased": ("ff",)}, "unbiased holds 'ff'; choose one of q, k"),
]


def refused(says, call, *given, **named):
    with pytest.raises(ConfigError, match=says) as fault:
        call(*given, **named)
    assert str(fault.value).endswith(".") and len(str(fault.value)) < 300


def test_nonsense_is_refused():
    for axes, says in NONSENSE:
        refused(says, EncoderConfig, **axes)
    for size in ("huge", ["small"]):
        refused("original, small, base", EncoderConfig.named, size)


def test_what_no_machine_holds_is_a_config_but_is_not_built():
    for axes in ({"d_model": 12 * 10**8}, {"n_layers": 10**9}, {"n_layers": 10**12}):
        config = EncoderConfig(**axes)
        assert config.n_parameters > 10**12
        refused(r"weights alone need .* GB; this machine has about", Encoder, config)


def test_the_memory_estimate_is_held_against_this_machine(monkeypatch):
    config = EncoderConfig(**SMALL)
    present = SimpleNamespace(total=config.n_parameters * 4)
    monkeypatch.setattr("psutil.virtual_memory", lambda: present)
    Encoder(config)
    present.total -= 1
    refused("weights alone need about", Encoder, config)
