"""DINOv2 with and without registers and gates, and its classifier of [CLS] and the mean patch."""

from typing import Any

from tests.checkpoints.parity import Case, Expected, builder
from viz_encoder.inputs import Inputs

SIZES = {
    "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "image_size": 30,
    "patch_size": 5, "mlp_ratio": 2,
}  # fmt: skip
PICTURES = ((30, 30), (40, 40), (20, 35), (10, 10))
PLAIN, REGISTERS = "dinov2", "dinov2_with_registers"


def see(reference: Any, inputs: Inputs) -> Expected:
    """The model, which always resizes its positions to the picture, or its classifier."""
    out = reference(inputs.values, output_hidden_states=True, output_attentions=True)
    if "logits" in out:
        return Expected(out.hidden_states, out.attentions, heads={"classify": out.logits})
    return Expected(out.hidden_states, out.attentions, out.last_hidden_state)


def plain(name: str, kind: str, wrong: Any = None, **settings: Any) -> Case:
    model = builder("Dinov2", SIZES)(kind, **settings)
    return Case(name, PLAIN, model, see, "image", wrong or {}, PICTURES)


def registered(name: str, kind: str, wrong: Any = None, **settings: Any) -> Case:
    model = builder("Dinov2WithRegisters", SIZES)(kind, **settings)
    return Case(name, REGISTERS, model, see, "image", wrong or {}, PICTURES)


CASES = [
    plain("DINOv2", "Model", {
        "layer_norm_eps": 1e-3, "hidden_act": "gelu_new", "num_attention_heads": 6,
        "num_hidden_layers": 2, "mlp_ratio": 4, "image_size": 60, "patch_size": 10,
        "qkv_bias": False, "use_swiglu_ffn": True, "num_channels": 1,
        "model_type": REGISTERS,  # other tokens, and another way to resize
    }),
    plain("DINOv2, gated", "Model", {"use_swiglu_ffn": False, "mlp_ratio": 3},
          use_swiglu_ffn=True, qkv_bias=False),
    plain("DINOv2, 3 labels", "ForImageClassification", num_labels=3),
    registered("DINOv2 with registers", "Model", {
        "layer_norm_eps": 1e-3, "hidden_act": "relu", "num_register_tokens": 3,
        "model_type": PLAIN,
    }),
    registered("DINOv2 with registers, gated", "Model", use_swiglu_ffn=True),
    registered("DINOv2 without its registers", "Model", {"model_type": PLAIN},
               num_register_tokens=0),
    registered("DINOv2 with registers, 3 labels", "ForImageClassification",
               num_labels=3, num_register_tokens=2),
]  # fmt: skip
