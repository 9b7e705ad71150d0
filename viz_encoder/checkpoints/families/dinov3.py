"""DINOv3 (Siméoni et al., 2025, arXiv:2508.10104): rotary positions by row and column."""

from viz_encoder.checkpoints.family import Family, Json, without_bias
from viz_encoder.checkpoints.picture import join_tokens, registers, vit_encoder
from viz_encoder.checkpoints.tables import PICTURE_SIZES
from viz_encoder.config import EncoderConfig, Positions

BIASES = {  # the setting that says whether our parts have a bias
    "query_bias": ("q",),
    "key_bias": ("k",),
    "value_bias": ("v",),
    "proj_bias": ("o",),
    "mlp_bias": ("up", "gate", "down"),
}


def _config(file: Json) -> EncoderConfig:
    return vit_encoder(
        file,
        prefix=("[CLS]", *registers(file["num_register_tokens"])),
        positions=Positions.NONE,
        rotary_base=file["rope_theta"],
        rotary_grid=True,
        gated=bool(file["use_gated_mlp"]),
        unbiased=without_bias(file, BIASES),
        dropout=0.0,
    )


FAMILY = Family(
    model_types=("dinov3_vit",),
    defaults={
        **PICTURE_SIZES,
        "hidden_size": 384,
        "num_attention_heads": 6,
        "intermediate_size": 1536,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-5,
        "rope_theta": 100.0,
        "query_bias": True,
        "key_bias": False,
        "value_bias": True,
        "proj_bias": True,
        "mlp_bias": True,
        "use_gated_mlp": False,
        "num_register_tokens": 0,
    },
    config=_config,
    optional_prefixes=("model.",),
    tensors="""
        embeddings.cls_token              prefix.cls
        embeddings.register_tokens        prefix.reg
        embeddings.mask_token             -  masked-patch embedding
        embeddings.patch_embeddings.*     embed.tokens.patch.*
        layer.#.norm1.*                   layers.#.attn_norm.*
        layer.#.attention.q_proj.*        layers.#.attn.q.*
        layer.#.attention.k_proj.*        layers.#.attn.k.*
        layer.#.attention.v_proj.*        layers.#.attn.v.*
        layer.#.attention.o_proj.*        layers.#.attn.o.*
        layer.#.layer_scale1.lambda1      layers.#.attn.o.scale
        layer.#.norm2.*                   layers.#.ff_norm.*
        layer.#.mlp.up_proj.*             layers.#.ff.up.*
        layer.#.mlp.gate_proj.*           layers.#.ff.gate.*
        layer.#.mlp.down_proj.*           layers.#.ff.down.*
        layer.#.layer_scale2.lambda1      layers.#.ff.down.scale
        norm.*                            final_norm.*
    """,
    adapt=join_tokens,
)
FAMILIES = (FAMILY,)
