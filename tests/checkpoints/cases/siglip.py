"""SigLIP: each half by itself, the whole model's two parts, and a classifier."""

from typing import Any

from transformers import (
    SiglipConfig,
    SiglipForImageClassification,
    SiglipModel,
    SiglipTextConfig,
    SiglipTextModel,
    SiglipVisionConfig,
    SiglipVisionModel,
)

from tests.checkpoints.parity import N_WORDS, Case, Expected
from viz_encoder.inputs import Inputs

SIZES = {
    "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 40,
}  # fmt: skip
TEXT = {**SIZES, "vocab_size": N_WORDS, "max_position_embeddings": 19}
VISION = {**SIZES, "image_size": 16, "patch_size": 4}
WRONG = {"layer_norm_eps": 1e-2, "hidden_act": "gelu", "num_attention_heads": 6,
         "num_hidden_layers": 2}  # fmt: skip
PICTURES = ((16, 16), (24, 20))
FULL = ((1,), (7, 7), (19, 19))  # the reference reads its vector off the last token, padding or not
FLAGS = {"output_hidden_states": True, "output_attentions": True}


def read_text(reference: Any, inputs: Inputs) -> Expected:
    out = reference(inputs.values, attention_mask=inputs.valid.long(), **FLAGS)
    return Expected(out.hidden_states, out.attentions, out.last_hidden_state)


def pool_text(reference: Any, inputs: Inputs) -> Expected:
    """Without a mask, as SigLIP was trained."""
    out = getattr(reference, "text_model", reference)(inputs.values, **FLAGS)
    heads = {"pool": out.pooler_output}
    return Expected(out.hidden_states, out.attentions, out.last_hidden_state, heads)


def see(reference: Any, inputs: Inputs) -> Expected:
    model = getattr(reference, "vision_model", reference)
    out = model(inputs.values, interpolate_pos_encoding=True, **FLAGS)
    heads = {} if out.pooler_output is None else {"pool": out.pooler_output}
    return Expected(out.hidden_states, out.attentions, out.last_hidden_state, heads)


def classify(reference: Any, inputs: Inputs) -> Expected:
    out = reference(inputs.values, interpolate_pos_encoding=True)
    seen = see(reference, inputs)
    return seen._replace(heads={**seen.heads, "classify": out.logits})


def text(**settings: Any):
    return lambda: SiglipTextModel(SiglipTextConfig(**TEXT, **settings))


def vision(**settings: Any):
    return lambda: SiglipVisionModel(SiglipVisionConfig(**{**VISION, **settings}))


def whole(kind: type, **settings: Any):
    return lambda: kind(SiglipConfig(text_config=TEXT, vision_config=VISION, **settings))


CASES = [
    Case("SigLIP vision", "siglip_vision_model", vision(), see, kind="image", sizes=PICTURES,
         wrong={**WRONG, "patch_size": 8, "image_size": 20, "num_channels": 1}),
    Case("SigLIP vision, pixels left over", "siglip_vision_model", vision(image_size=18), see,
         kind="image", sizes=PICTURES),
    Case("SigLIP vision without its head", "siglip_vision_model", vision(vision_use_head=False),
         see, kind="image", sizes=PICTURES),
    Case("SigLIP text, padded", "siglip_text_model", text(), read_text, pad_id=1,
         wrong={**WRONG, "max_position_embeddings": 18, "vocab_size": 44}),
    Case("SigLIP text", "siglip_text_model", text(projection_size=20), pool_text, lengths=FULL,
         wrong={"projection_size": 24}),
    Case("SigLIP, its vision part", "siglip", whole(SiglipModel), see, kind="image",
         sizes=PICTURES, part="vision", wrong={"layer_norm_eps": 1e-2, "hidden_act": "gelu"}),
    Case("SigLIP, its text part", "siglip", whole(SiglipModel), pool_text, lengths=FULL,
         part="text", wrong={"layer_norm_eps": 1e-2, "hidden_act": "gelu"}),
    Case("SigLIP, 3 labels", "siglip", whole(SiglipForImageClassification, num_labels=3),
         classify, kind="image", sizes=PICTURES, part="vision"),
]  # fmt: skip
