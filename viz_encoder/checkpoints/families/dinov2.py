"""DINOv2 (Oquab et al., 2023, arXiv:2304.07193), also with registers (arXiv:2309.16588)."""

from dataclasses import replace

from viz_encoder.checkpoints.family import Family, Json
from viz_encoder.checkpoints.picture import join_tokens, registers, vit_encoder
from viz_encoder.checkpoints.tables import PICTURE_SIZES, labels_of_picture
from viz_encoder.config import Activation, EncoderConfig, HeadPool


def _config(file: Json) -> EncoderConfig:
    gated = bool(file["use_swiglu_ffn"])
    width = int(file["hidden_size"] * file["mlp_ratio"])
    if gated:  # two thirds, in eights: about as many weights as without the gate
        width = (int(width * 2 / 3) + 7) // 8 * 8
    return vit_encoder(
        {**file, "intermediate_size": width},
        prefix=("[CLS]",),
        gated=gated,
        **({"activation": Activation.SILU} if gated else {}),
        unbiased=() if file["qkv_bias"] else ("q", "k", "v"),
        dropout=file["hidden_dropout_prob"],
    )


def _with_registers(file: Json) -> EncoderConfig:
    prefix = ("[CLS]", *registers(file["num_register_tokens"]))
    # Unlike DINOv2 without registers, its positions are smoothed when they are resized.
    return replace(_config(file), prefix=prefix, antialias=True)


DEFAULTS = {
    **PICTURE_SIZES,
    "mlp_ratio": 4,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.0,
    "layer_norm_eps": 1e-6,
    "patch_size": 14,
    "qkv_bias": True,
    "use_swiglu_ffn": False,
}
TENSORS = """
    embeddings.cls_token                           prefix.cls
    embeddings.register_tokens                     prefix.reg
    embeddings.mask_token                          -  masked-patch embedding
    embeddings.patch_embeddings.projection.*       embed.tokens.patch.*
    embeddings.position_embeddings                 embed.position
    encoder.layer.#.norm1.*                        layers.#.attn_norm.*
    encoder.layer.#.attention.attention.query.*    layers.#.attn.q.*
    encoder.layer.#.attention.attention.key.*      layers.#.attn.k.*
    encoder.layer.#.attention.attention.value.*    layers.#.attn.v.*
    encoder.layer.#.attention.output.dense.*       layers.#.attn.o.*
    encoder.layer.#.layer_scale1.lambda1           layers.#.attn.o.scale
    encoder.layer.#.norm2.*                        layers.#.ff_norm.*
    encoder.layer.#.mlp.fc1.*                      layers.#.ff.up.*
    encoder.layer.#.mlp.fc2.*                      layers.#.ff.down.*
    encoder.layer.#.mlp.weights_in.*               layers.#.ff.gate|up.*
    encoder.layer.#.mlp.weights_out.*              layers.#.ff.down.*
    encoder.layer.#.layer_scale2.lambda1           layers.#.ff.down.scale
    layernorm.*                                    final_norm.*
"""
PLAIN = Family(
    model_types=("dinov2",),
    defaults=DEFAULTS,
    config=_config,
    optional_prefixes=("dinov2.",),
    tensors=TENSORS,
    heads=(labels_of_picture(HeadPool.CLS_MEAN),),
    adapt=join_tokens,
)
WITH_REGISTERS = replace(
    PLAIN,
    model_types=("dinov2_with_registers",),
    defaults={**DEFAULTS, "patch_size": 16, "num_register_tokens": 4},
    config=_with_registers,
    optional_prefixes=("dinov2_with_registers.",),
)
FAMILIES = (PLAIN, WITH_REGISTERS)
