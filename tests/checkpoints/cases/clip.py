"""CLIP: each half by itself, with and without its projection, and the whole model's two parts."""

from typing import Any

from transformers import (
    CLIPConfig,
    CLIPModel,
    CLIPTextConfig,
    CLIPTextModel,
    CLIPTextModelWithProjection,
    CLIPVisionConfig,
    CLIPVisionModel,
    CLIPVisionModelWithProjection,
)

from tests.checkpoints.parity import N_WORDS, Case, Expected
from viz_encoder.inputs import Inputs

END = 3  # CLIP pads with the token that ends a text
SIZES = {
    "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 40,
}  # fmt: skip
TEXT = {
    **SIZES, "vocab_size": N_WORDS, "max_position_embeddings": 19, "eos_token_id": END,
    "pad_token_id": END, "bos_token_id": 2, "projection_dim": 20,
}  # fmt: skip
VISION = {**SIZES, "image_size": 16, "patch_size": 4, "projection_dim": 20}
WRONG = {"layer_norm_eps": 1e-2, "hidden_act": "gelu", "num_attention_heads": 6,
         "num_hidden_layers": 2}  # fmt: skip
PICTURES = ((16, 16), (24, 20))
FLAGS = {"output_hidden_states": True, "output_attentions": True}


def read_text(reference: Any, inputs: Inputs) -> Expected:
    """The text model; its last hidden state is normed."""
    out = reference(inputs.values, attention_mask=inputs.valid.long(), **FLAGS)
    heads = {"pool": out.text_embeds} if "text_embeds" in out else {}
    return Expected(out.hidden_states, out.attentions, out.last_hidden_state, heads)


def see(reference: Any, inputs: Inputs) -> Expected:
    """The vision model, whose last hidden state is not normed: the norm is for [CLS] alone."""
    out = reference(inputs.values, interpolate_pos_encoding=True, **FLAGS)
    heads = {"pool": out.image_embeds} if "image_embeds" in out else {}
    norm = getattr(reference, "vision_model", reference).post_layernorm
    return Expected(out.hidden_states, out.attentions, norm(out.last_hidden_state), heads)


def read_text_of_whole(reference: Any, inputs: Inputs) -> Expected:
    out = reference.get_text_features(
        inputs.values, attention_mask=inputs.valid.long(), **FLAGS
    )  # fmt: skip
    seen = read_text(reference.text_model, inputs)
    return seen._replace(heads={"pool": out.pooler_output})


def see_with_whole(reference: Any, inputs: Inputs) -> Expected:
    out = reference.get_image_features(inputs.values, interpolate_pos_encoding=True)
    return see(reference.vision_model, inputs)._replace(heads={"pool": out.pooler_output})


def text(kind: type, **settings: Any):
    return lambda: kind(CLIPTextConfig(**TEXT, **settings))


def vision(kind: type, **settings: Any):
    return lambda: kind(CLIPVisionConfig(**VISION, **settings))


def whole() -> CLIPModel:
    return CLIPModel(CLIPConfig(text_config=TEXT, vision_config=VISION, projection_dim=22))


CASES = [
    Case("CLIP vision", "clip_vision_model", vision(CLIPVisionModel), see, kind="image",
         sizes=PICTURES, wrong={**WRONG, "patch_size": 8, "image_size": 20, "num_channels": 1}),
    Case("CLIP vision, gelu", "clip_vision_model", vision(CLIPVisionModel, hidden_act="gelu"),
         see, kind="image", sizes=PICTURES, wrong={"hidden_act": "quick_gelu"}),
    Case("CLIP vision, projected", "clip_vision_model", vision(CLIPVisionModelWithProjection),
         see, kind="image", sizes=PICTURES, wrong={"projection_dim": 24}),
    Case("CLIP text", "clip_text_model", text(CLIPTextModel), read_text, pad_id=END, end_id=END,
         wrong={**WRONG, "max_position_embeddings": 18, "vocab_size": 44}),
    Case("CLIP text, projected", "clip_text_model", text(CLIPTextModelWithProjection), read_text,
         pad_id=END, end_id=END, wrong={"projection_dim": 24}),
    Case("CLIP, its vision part", "clip", whole, see_with_whole, kind="image", sizes=PICTURES,
         part="vision", wrong={"layer_norm_eps": 1e-2, "hidden_act": "gelu"}),
    Case("CLIP, its text part", "clip", whole, read_text_of_whole, part="text", pad_id=END,
         end_id=END, wrong={"layer_norm_eps": 1e-2, "hidden_act": "gelu"}),
]  # fmt: skip
