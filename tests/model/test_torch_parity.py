"""Our encoder against torch.nn.TransformerEncoder with the same weights."""

import itertools

import pytest
import torch
from torch import nn

from viz_encoder.config import EncoderConfig
from viz_encoder.model import Encoder, masks

D_MODEL, N_HEADS, D_FF, N_LAYERS = 24, 4, 40, 3
BATCH, N_TOKENS = 3, 7
VALID = torch.tensor([[True] * 7, [True] * 4 + [False] * 3, [True] + [False] * 6])
TOLERANCE = 1e-5


def uneven(module: nn.Module) -> None:
    """Give every weight its own size, so that no two can be swapped unnoticed."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.add_(noise * (0.2 if parameter.ndim > 1 else 0.5))


def torch_encoder(
    norm: str, activation: str, final_norm: bool, bias: bool = True
) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(
        *(D_MODEL, N_HEADS, D_FF), dropout=0.1, activation=activation, batch_first=True,
        norm_first=norm == "pre", bias=bias,
    )  # fmt: skip
    norm_module = nn.LayerNorm(D_MODEL, bias=bias) if final_norm else None
    model = nn.TransformerEncoder(layer, N_LAYERS, norm=norm_module, enable_nested_tensor=False)
    uneven(model)
    return model.eval()


def ours(reference: nn.TransformerEncoder, norm: str, activation: str, **axes: object) -> Encoder:
    config = EncoderConfig(
        n_layers=N_LAYERS, n_heads=N_HEADS, d_model=D_MODEL, d_ff=D_FF, embedding="vector",
        positions="none", norm_placement=norm, norm_eps=1e-5, embed_norm=False,
        final_norm=reference.norm is not None, activation=activation, **axes,
    )  # fmt: skip
    model = Encoder(config).eval()
    model.load_state_dict(renamed(reference.state_dict()))
    return model


def renamed(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    out = {}
    table = {
        "self_attn.out_proj": "attn.o", "linear1": "ff.up", "linear2": "ff.down",
        "norm1": "attn_norm", "norm2": "ff_norm",
    }  # fmt: skip
    for name, tensor in state.items():
        if "in_proj" in name:
            stem, kind = name.split("self_attn.in_proj_")
            for part, piece in zip("qkv", tensor.chunk(3), strict=True):
                out[f"{stem}attn.{part}.{kind}"] = piece
            continue
        for theirs, mine in table.items():
            name = name.replace(theirs, mine)
        out[name.replace("norm.", "final_norm.") if name.startswith("norm.") else name] = tensor
    return out


def inputs() -> torch.Tensor:
    return torch.randn(BATCH, N_TOKENS, D_MODEL, generator=torch.Generator().manual_seed(1))


def apart(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b)[VALID].abs().max() / b[VALID].abs().max())


VARIANTS = list(itertools.product(("pre", "post"), ("relu", "gelu"), (False, True)))


@pytest.mark.parametrize(("norm", "activation", "final_norm"), VARIANTS)
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_equals_torch(norm, activation, final_norm, padded, causal):
    reference = torch_encoder(norm, activation, final_norm)
    model = ours(reference, norm, activation, causal=causal)
    x = inputs()
    with torch.no_grad():
        expected = reference(
            x,
            mask=~masks.causal(N_TOKENS)[0, 0] if causal else None,
            src_key_padding_mask=~VALID if padded else None,
        )
        got = model(x, VALID if padded else None).output
    assert apart(got, expected) <= TOLERANCE


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_equals_torch_without_biases(norm):
    reference = torch_encoder(norm, "gelu", True, bias=False)
    assert not any("bias" in name for name in reference.state_dict())
    model = ours(reference, norm, "gelu", bias=False)
    with torch.no_grad():
        expected = reference(inputs(), src_key_padding_mask=~VALID)
        assert apart(model(inputs(), VALID).output, expected) <= TOLERANCE


def test_an_inverted_padding_mask_is_seen():
    reference = torch_encoder("pre", "gelu", True)
    model = ours(reference, "pre", "gelu")
    valid = torch.tensor([[True] * 4 + [False] * 3] * BATCH)
    with torch.no_grad():
        expected = reference(inputs(), src_key_padding_mask=~valid)
        right = model(inputs(), masks.from_true_means_ignore(~valid)).output
        wrong = model(inputs(), masks.from_true_means_ignore(valid)).output
    assert float((right - expected)[valid].abs().max()) <= TOLERANCE * float(expected.abs().max())
    assert float((wrong - expected)[valid].abs().max()) > 1e-2


@pytest.mark.parametrize(
    ("axis", "wrong"),
    [("norm_placement", "post"), ("activation", "relu"), ("norm_eps", 1e-3), ("causal", True)],
)
def test_a_wrong_axis_is_seen(axis, wrong):
    reference = torch_encoder("pre", "gelu", True)
    right = ours(reference, "pre", "gelu")
    axes = {f: getattr(right.config, f) for f in right.config.__dataclass_fields__}
    model = Encoder(EncoderConfig(**{**axes, axis: wrong})).eval()
    model.load_state_dict(right.state_dict())
    with torch.no_grad():
        assert (
            apart(model(inputs(), VALID).output, reference(inputs(), src_key_padding_mask=~VALID))
            > 1e-4
        )


def test_window_and_custom_masks_combine(rng):
    reference = torch_encoder("post", "gelu", False)
    model = ours(reference, "post", "gelu", window=2)
    custom = torch.rand(BATCH, N_TOKENS, N_TOKENS, generator=rng) > 0.4
    custom |= torch.eye(N_TOKENS, dtype=torch.bool)
    near = (torch.arange(N_TOKENS)[:, None] - torch.arange(N_TOKENS)).abs() <= 2
    allowed = custom & near & VALID[:, None, :] | torch.eye(N_TOKENS, dtype=torch.bool)
    with torch.no_grad():
        got = model(inputs(), VALID, mask=custom).output
        expected = reference(inputs(), mask=~allowed.repeat_interleave(N_HEADS, dim=0))
    # A padded query may see itself in the reference but nothing here: real rows only.
    assert apart(got, expected) <= TOLERANCE


def test_a_query_that_may_attend_to_nothing_gets_zeros():
    model = ours(torch_encoder("post", "gelu", False), "post", "gelu")
    mask = torch.ones(N_TOKENS, N_TOKENS, dtype=torch.bool)
    mask[3] = False
    with torch.no_grad():
        result = model(inputs(), mask=mask, capture=True)
    assert bool(torch.isfinite(result.output).all())
    assert float(result.records[0].signature[:, :, 3].abs().max()) == 0


def test_dropout_acts_in_training_only():
    model = ours(torch_encoder("pre", "gelu", False), "pre", "gelu", dropout=0.5)
    with torch.no_grad():
        assert torch.equal(model(inputs()).output, model(inputs()).output)
        model.train()
        assert not torch.equal(model(inputs()).output, model(inputs()).output)
