"""ViT, the encoder of MAE, and DeiT with its distillation token, with each of their heads."""

from typing import Any

import torch

from tests.checkpoints.parity import Case, Expected, builder
from viz_encoder.inputs import Inputs

SIZES = {
    "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 40,
    "image_size": 16, "patch_size": 4,
}  # fmt: skip
DECODER = {
    "decoder_hidden_size": 8, "decoder_num_attention_heads": 2, "decoder_num_hidden_layers": 1,
    "decoder_intermediate_size": 8,
}  # fmt: skip
TRAINED, LARGER, LONG, SMALLER = (16, 16), (24, 24), (12, 28), (8, 8)
PICTURES = (TRAINED, LARGER, LONG, SMALLER)
FLAGS = {
    "output_hidden_states": True, "output_attentions": True, "interpolate_pos_encoding": True,
}  # fmt: skip


def see(reference: Any, inputs: Inputs) -> Expected:
    """The model, with its head if it has one."""
    out = reference(inputs.values, **FLAGS)
    if "logits" in out:
        return Expected(out.hidden_states, out.attentions, heads={"classify": out.logits})
    pooled = out.pooler_output
    heads = {} if pooled is None else {"pool": pooled}
    return Expected(out.hidden_states, out.attentions, out.last_hidden_state, heads)


def reconstruct(reference: Any, inputs: Inputs) -> Expected:
    """The encoder of a model for masked pictures, with nothing masked."""
    out = reference.vit(inputs.values, **FLAGS)
    return Expected(out.hidden_states, out.attentions, out.last_hidden_state)


def unshuffled(reference: Any, inputs: Inputs) -> Expected:
    """MAE, which drops and shuffles patches by noise: here none, and in their order."""
    reference = getattr(reference, "vit", reference)
    n_patches = inputs.valid.shape[1] - 1
    noise = torch.arange(n_patches).float().expand(len(inputs.valid), -1)
    out = reference(inputs.values, noise=noise, **FLAGS)
    return Expected(out.hidden_states, out.attentions, out.last_hidden_state)


vit, deit = builder("ViT", SIZES), builder("DeiT", SIZES)
mae = builder("ViTMAE", SIZES | DECODER, mask_ratio=0.0)


def case(name: str, model_type: str, model: Any, run: Any = see, **wrong: Any) -> Case:
    return Case(name, model_type, model, run, kind="image", sizes=PICTURES, wrong=wrong)


CASES = [
    case("ViT", "vit", vit(), layer_norm_eps=1e-3, hidden_act="gelu_new",
         num_attention_heads=6, num_hidden_layers=2, image_size=32, patch_size=8, num_channels=1,
         qkv_bias=False, pooler_act="relu"),
    case("ViT, other axes", "vit", vit("Model", qkv_bias=False, hidden_act="gelu_new",
         pooler_output_size=10, pooler_act="relu", num_channels=1, layer_norm_eps=1e-5),
         qkv_bias=True, hidden_act="gelu", pooler_act="tanh"),
    case("ViT, 3 labels", "vit", vit("ForImageClassification", num_labels=3)),
    case("ViT for masked pictures", "vit", vit("ForMaskedImageModeling", encoder_stride=4),
         reconstruct),
    case("MAE", "vit_mae", mae(), unshuffled, layer_norm_eps=1e-3, hidden_act="relu"),
    case("MAE with its decoder", "vit_mae", mae("ForPreTraining"), unshuffled),
    case("DeiT", "deit", deit(), layer_norm_eps=1e-3, hidden_act="relu"),
    case("DeiT, 3 labels", "deit", deit("ForImageClassification", num_labels=3)),
    case("DeiT, distilled", "deit", deit("ForImageClassificationWithTeacher", num_labels=3)),
]  # fmt: skip
