"""CLIP (Radford et al., 2021, arXiv:2103.00020): pictures and texts brought into one space."""

from collections.abc import Mapping

from torch import Tensor, nn

from viz_encoder.checkpoints import family
from viz_encoder.checkpoints.family import CarriedHead, Family, Json
from viz_encoder.checkpoints.picture import join_tokens, vit_encoder
from viz_encoder.checkpoints.tables import CLIP, PICTURE_SIZES
from viz_encoder.config import EncoderConfig, HeadConfig, HeadPool, Task


def _vision(file: Json) -> EncoderConfig:
    # CLIP gives its last norm to [CLS] alone; we show every token through it, which changes
    # nothing for [CLS], for a norm never looks at other tokens.
    own = {"embed_norm": True, "unbiased": ("patch",), "dropout": file["attention_dropout"]}
    return vit_encoder(file, prefix=("[CLS]",), **own)


def _projection(file: Json, pool: HeadPool) -> HeadConfig:
    return HeadConfig(Task.POOL, pool, n_out=file["projection_dim"], unbiased=("out",))


DEFAULTS = {
    "hidden_act": "quick_gelu",
    "layer_norm_eps": 1e-5,
    "attention_dropout": 0.0,
    "projection_dim": 512,
}


def _vision_run(model: nn.Module, inputs: Mapping[str, Tensor]) -> Tensor:
    """Apply the final norm to all tokens, as our encoder does; the reference norms only [CLS]."""
    tower = getattr(model, "vision_model", model)
    states: Tensor = tower.get_submodule("post_layernorm")(family.last_states(tower, inputs))
    return states


VISION = Family(
    model_types=("clip_vision_model",),
    defaults={**DEFAULTS, **PICTURE_SIZES, "patch_size": 32},
    config=_vision,
    optional_prefixes=("vision_model.",),
    tensors="""
        embeddings.class_embedding           prefix.cls
        embeddings.patch_embedding.weight    embed.tokens.patch.weight
        pre_layrnorm.*                       embed.norm.*
        post_layernorm.*                     final_norm.*
        visual_projection.weight             -  image projection
        text_model.*                         -  text tower
        text_projection.weight               -  text projection
        classifier.*                         -  classification head
    """  # classifier reads the mean of states before the last norm, which no head of ours does
    + CLIP,
    heads=(
        CarriedHead(
            lambda file: _projection(file, HeadPool.CLS),
            "visual_projection.weight        heads.pool.out.weight",
        ),
    ),
    adapt=join_tokens,
    part_of=("clip", "vision"),
    run=_vision_run,
)

# The reference reads the text's vector at its end-of-text token. A tokenizer puts that one last
# and what follows is padding, so it is the last valid token.
TEXT = Family(
    model_types=("clip_text_model",),
    defaults={
        **DEFAULTS,
        "vocab_size": 49408,
        "num_hidden_layers": 12,
        "hidden_size": 512,
        "intermediate_size": 2048,
        "num_attention_heads": 8,
        "max_position_embeddings": 77,
        "pad_token_id": 1,
    },
    config=lambda file: family.tower_of_texts(file, causal=True),
    optional_prefixes=("text_model.",),
    tensors="""
        embeddings.token_embedding.weight    embed.tokens.word.weight
        final_layer_norm.*                   final_norm.*
        text_projection.weight               -  text projection
        vision_model.*                       -  vision tower
        visual_projection.weight             -  image projection
    """
    + CLIP,
    heads=(
        CarriedHead(
            lambda file: _projection(file, HeadPool.LAST),
            "text_projection.weight          heads.pool.out.weight",
        ),
    ),
    part_of=("clip", "text"),
    run=family.states_of_tower("text"),
)
FAMILIES = (VISION, TEXT)
