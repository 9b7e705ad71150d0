"""ViT (Dosovitskiy et al., 2020, arXiv:2010.11929), MAE (2111.06377) and DeiT (2012.12877)."""

from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor, nn

from viz_encoder.checkpoints import family, tables
from viz_encoder.checkpoints.family import CarriedHead, Family, Json
from viz_encoder.checkpoints.picture import average_classes, join_tokens, vit_encoder
from viz_encoder.config import EncoderConfig, HeadConfig, HeadPool, Task


def _config(file: Json, prefix: tuple[str, ...] = ("[CLS]",)) -> EncoderConfig:
    return vit_encoder(
        file,
        prefix=prefix,
        unbiased=() if file["qkv_bias"] else ("q", "k", "v"),
        dropout=file["hidden_dropout_prob"],
    )


def _pool(file: Json) -> HeadConfig:
    return HeadConfig(
        Task.POOL,
        HeadPool.CLS,
        d_dense=file["pooler_output_size"] or file["hidden_size"],
        activation=family.activation(file["pooler_act"]),
    )


def _adapt(tensors: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
    return average_classes(join_tokens(tensors, config))


DEFAULTS = {
    **tables.PICTURE_SIZES,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.0,
    "layer_norm_eps": 1e-12,
    "qkv_bias": True,
    "pooler_output_size": None,
    "pooler_act": "tanh",
}
TENSORS = """
    embeddings.cls_token                               prefix.cls
    embeddings.distillation_token                      prefix.dist
    embeddings.mask_token                              -  masked-patch embedding
    embeddings.patch_embeddings.projection.*           embed.tokens.patch.*
    embeddings.position_embeddings                     embed.position
    encoder.layer.#.attention.attention.query.*        layers.#.attn.q.*
    encoder.layer.#.attention.attention.key.*          layers.#.attn.k.*
    encoder.layer.#.attention.attention.value.*        layers.#.attn.v.*
    encoder.layer.#.attention.output.dense.*           layers.#.attn.o.*
    encoder.layer.#.layernorm_before.*                 layers.#.attn_norm.*
    encoder.layer.#.intermediate.dense.*               layers.#.ff.up.*
    encoder.layer.#.output.dense.*                     layers.#.ff.down.*
    encoder.layer.#.layernorm_after.*                  layers.#.ff_norm.*
    layernorm.*                                        final_norm.*
    decoder.*                                          -  masked-patch decoder
"""
HEADS = (
    tables.labels_of_picture(HeadPool.CLS),
    CarriedHead(_pool, "pooler.dense.*                   heads.pool.dense.*"),
)
AVERAGE = CarriedHead(
    lambda file: family.classes(file, task=Task.CLASSIFY, pool=HeadPool.CLS_DIST),
    """
    cls_classifier.*                                   heads.classify.out.*
    distillation_classifier.*                          heads.classify.dist.*
    """,
)


def _run(model: nn.Module, inputs: Mapping[str, Tensor]) -> Tensor:
    if getattr(model.config, "model_type", "") == "vit_mae":
        raise RuntimeError("it masks patches at random")
    return family.last_states(model, inputs)


VIT = Family(
    model_types=("vit", "vit_mae"),  # for MAE, only the encoder
    defaults=DEFAULTS,
    config=_config,
    optional_prefixes=("vit.",),
    tensors=TENSORS,
    heads=HEADS,
    adapt=_adapt,
    run=_run,
)
DEIT = replace(
    VIT,
    model_types=("deit",),
    config=lambda file: _config(file, prefix=("[CLS]", "[DIST]")),
    optional_prefixes=("deit.",),
    heads=(*HEADS, AVERAGE),
    run=family.last_states,
)
FAMILIES = (VIT, DEIT)
