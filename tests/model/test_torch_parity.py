"""Our encoder against torch.nn.TransformerEncoder with the same weights."""

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


def torch_encoder(norm: str) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(
        *(D_MODEL, N_HEADS, D_FF), dropout=0.1, activation="gelu", batch_first=True,
        norm_first=norm == "pre",
    )  # fmt: skip
    model = nn.TransformerEncoder(layer, N_LAYERS, enable_nested_tensor=False)
    uneven(model)
    return model.eval()


def ours(reference: nn.TransformerEncoder, norm: str, **axes: object) -> Encoder:
    config = EncoderConfig(
        n_layers=N_LAYERS, n_heads=N_HEADS, d_model=D_MODEL, d_ff=D_FF, embedding="vector",
        positions="none", norm_placement=norm, norm_eps=1e-5, embed_norm=False,
        final_norm=False, activation="gelu", **axes,
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
        out[name] = tensor
    return out


def inputs() -> torch.Tensor:
    return torch.randn(BATCH, N_TOKENS, D_MODEL, generator=torch.Generator().manual_seed(1))


def apart(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b)[VALID].abs().max() / b[VALID].abs().max())


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("causal", [False, True])
def test_equals_torch(norm, causal):
    """Activations, biases and a final norm are held by tests/checkpoints/cases/torch_encoder.py."""
    reference = torch_encoder(norm)
    model = ours(reference, norm, causal=causal)
    mask = ~masks.causal(N_TOKENS)[0, 0] if causal else None
    with torch.no_grad():
        expected = reference(inputs(), mask=mask, src_key_padding_mask=~VALID)
        assert apart(model(inputs(), VALID).output, expected) <= TOLERANCE


def test_window_and_custom_masks_combine(rng):
    reference = torch_encoder("post")
    model = ours(reference, "post", window=2)
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
    model = ours(torch_encoder("post"), "post")
    mask = torch.ones(N_TOKENS, N_TOKENS, dtype=torch.bool)
    mask[3] = False
    with torch.no_grad():
        result = model(inputs(), mask=mask, capture=True)
    assert bool(torch.isfinite(result.output).all())
    assert float(result.records[0].signature[:, :, 3].abs().max()) == 0


def test_dropout_acts_in_training_only():
    model = ours(torch_encoder("pre"), "pre", dropout=0.5)
    with torch.no_grad():
        assert torch.equal(model(inputs()).output, model(inputs()).output)
        model.train()
        assert not torch.equal(model(inputs()).output, model(inputs()).output)
