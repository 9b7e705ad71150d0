"""DINOv3: positions by rotation, with and without registers, gates and biases."""

from typing import Any

from tests.checkpoints.parity import Case, Expected, builder
from viz_encoder.inputs import Inputs

SIZES = {
    "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 40,
    "image_size": 16, "patch_size": 4,
}  # fmt: skip
build = builder("DINOv3ViT", SIZES)
PICTURES = ((16, 16), (24, 24), (12, 28), (4, 4))


def see(reference: Any, inputs: Inputs) -> Expected:
    """The model; its pooled vector is [CLS] as it is."""
    out = reference(inputs.values, output_hidden_states=True, output_attentions=True)
    return Expected(out.hidden_states, out.attentions, out.last_hidden_state)


def case(name: str, wrong: Any = None, **settings: Any) -> Case:
    return Case(name, "dinov3_vit", build(**settings), see, "image", wrong or {}, PICTURES)


CASES = [
    case("DINOv3", {
        "layer_norm_eps": 1e-3, "hidden_act": "gelu_new", "num_attention_heads": 2,
        "num_hidden_layers": 2, "rope_theta": 90.0, "num_register_tokens": 2, "patch_size": 8,
        "query_bias": False, "key_bias": True, "value_bias": False, "proj_bias": False,
        "mlp_bias": False, "use_gated_mlp": True, "num_channels": 1,
    }, num_register_tokens=3),
    case("DINOv3, gated", {"hidden_act": "gelu", "use_gated_mlp": False},
         use_gated_mlp=True, hidden_act="silu", num_register_tokens=4),
    case("DINOv3, other biases", query_bias=False, key_bias=True, value_bias=False,
         proj_bias=False, mlp_bias=False, rope_theta=50.0),
]  # fmt: skip
