"""torch.nn.TransformerEncoder, in each of its variants."""

import json
from pathlib import Path
from typing import Any

import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn

from tests.checkpoints.parity import Case, Expected
from viz_encoder.inputs import Inputs

D_MODEL, D_FF, N_HEADS = 24, 40, 4


def run(reference: nn.TransformerEncoder, inputs: Inputs) -> Expected:
    """Layer by layer, each map asked of the layer's own attention."""
    x, padding = inputs.values, ~inputs.valid
    hidden, maps = [x], []
    for layer in reference.layers:
        seen = layer.norm1(x) if layer.norm_first else x
        attend = layer.self_attn
        maps.append(
            attend(seen, seen, seen, key_padding_mask=padding, average_attn_weights=False)[1]
        )
        x = layer(x, src_key_padding_mask=padding)
        hidden.append(x)
    whole = reference(inputs.values, src_key_padding_mask=padding)
    return Expected(tuple(hidden), tuple(maps), whole)


def build(final: nn.Module | None = None, **settings: Any):
    def model() -> nn.TransformerEncoder:
        layer = nn.TransformerEncoderLayer(D_MODEL, N_HEADS, D_FF, batch_first=True, **settings)
        return nn.TransformerEncoder(layer, 3, norm=final, enable_nested_tensor=False)

    return model


def write(**said: Any):
    def save(model: nn.TransformerEncoder, folder: Path) -> nn.TransformerEncoder:
        save_file(model.state_dict(), folder / "model.safetensors")
        file = {"model_type": "torch_transformer_encoder", "nhead": N_HEADS, **said}
        (folder / "config.json").write_text(json.dumps(file))
        return model

    return save


def case(name: str, model: Any, save: Any, wrong: dict[str, Any]) -> Case:
    kind = "torch_transformer_encoder"
    return Case(f"torch.nn, {name}", kind, model, run, kind="vector", save=save, wrong=wrong)


CASES = [
    case("post-norm", build(), write(), {
        "nhead": 6, "norm_first": True, "activation": "gelu", "layer_norm_eps": 1e-2,
    }),
    case("pre-norm, gelu, final norm",
         build(nn.LayerNorm(D_MODEL), norm_first=True, activation="gelu"),
         write(norm_first=True, activation="gelu"),
         {"norm_first": False, "activation": "gelu_new", "layer_norm_eps": 1e-2}),
    case("no biases, silu", build(bias=False, activation=F.silu), write(activation="silu"),
         {"activation": "relu"}),
    case("no biases but the final norm's",
         build(nn.LayerNorm(D_MODEL), norm_first=True, bias=False), write(norm_first=True), {}),
    case("biases but the final norm's", build(nn.LayerNorm(D_MODEL, bias=False)), write(), {}),
    case("another eps", build(layer_norm_eps=1e-2), write(layer_norm_eps=1e-2),
         {"layer_norm_eps": 1e-5}),
]  # fmt: skip
