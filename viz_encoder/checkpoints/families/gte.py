"""GTE v1.5 (Zhang et al., 2024, arXiv:2407.19669): BERT with rotary positions and a gate.

The hub's first files call the model_type "new", transformers calls it "gte"; tensors are alike.
"""

from dataclasses import replace
from reprlib import repr as shown
from typing import Any

from viz_encoder.checkpoints import tables
from viz_encoder.checkpoints.family import CarriedHead, Family, Json, require_fixed, text_axes
from viz_encoder.config import Activation, EncoderConfig, Positions
from viz_encoder.errors import CheckpointError


def _config(file: Json) -> EncoderConfig:
    require_fixed(file, FIXED, "GTE")
    return EncoderConfig(
        **text_axes(file),
        positions=Positions.NONE,
        gated=True,
        unbiased=("up", "gate"),
        **_rotary(file),
    )


def _rotary(file: Json) -> dict[str, Any]:
    """Base and stretch: a text `factor` times longer is turned no further than those trained on.

    "linear" is Chen et al., 2023, arXiv:2306.15595; "ntk" is the fixed one of kexue.fm/archives/
    9706, which takes the factor into the base and shares what is left among all pairs.
    """
    said = {**(file.get("rope_parameters") or {}), **(file.get("rope_scaling") or {})}
    base = said.get("rope_theta", file["rope_theta"])
    scaling = said.get("rope_type", said.get("type", "default"))
    if scaling == "default":
        return {"rotary_base": base}
    if scaling == "linear":
        return {"rotary_base": base, "rotary_stretch": said["factor"]}
    if scaling == "ntk" and said.get("mixed_b") is None:
        factor, d_head = said["factor"], file["hidden_size"] // file["num_attention_heads"]
        return {"rotary_base": base * factor, "rotary_stretch": factor ** (2 / d_head)}
    raise CheckpointError(
        f"config.json scales rotary positions by {shown(said)}; for GTE, only 'linear', plain "
        "'ntk' and no scaling are supported."
    )


# Switches of "new" that change the model, as all released ones have them.
FIXED: Json = {
    "position_embedding_type": "rope",
    "layer_norm_type": "layer_norm",
    "logn_attention_scale": False,
}
GTE = Family(
    model_types=("gte",),
    defaults={
        **FIXED,
        **tables.BERT_SIZES,
        "vocab_size": 250048,
        "max_position_embeddings": 8192,
        "type_vocab_size": 1,
        "rope_theta": 160_000.0,
        "pad_token_id": 1,
    },
    config=_config,
    optional_prefixes=("new.", "gte."),
    tensors="""
        embeddings.word_embeddings.weight          embed.tokens.word.weight
        embeddings.token_type_embeddings.weight    embed.tokens.segment.weight
        embeddings.LayerNorm.*                     embed.norm.*
        encoder.layer.#.attention.qkv_proj.*       layers.#.attn.q|k|v.*
        encoder.layer.#.attention.o_proj.*         layers.#.attn.o.*
        encoder.layer.#.attn_ln.*                  layers.#.attn_norm.*
        encoder.layer.#.mlp.up_gate_proj.weight    layers.#.ff.up|gate.weight
        encoder.layer.#.mlp.down_proj.*            layers.#.ff.down.*
        encoder.layer.#.mlp_ln.*                   layers.#.ff_norm.*
        classifier.*                               -  classification head
    """,
    heads=(
        CarriedHead(
            tables.masked(act=Activation.GELU),  # whatever the feed-forward networks use
            """
            lm_head.dense.*      heads.masked.dense.*
            lm_head.norm.*       heads.masked.norm.*
            lm_head.decoder.*    heads.masked.out.*
            """,
        ),
        tables.BERT_CLASSES,
        tables.TOKEN_LABELS,
        tables.BERT_POOLER,
    ),
    wordpiece=True,
)
NEW = replace(
    GTE,
    model_types=("new",),
    defaults={
        **GTE.defaults,
        "vocab_size": 30528,
        "max_position_embeddings": 2048,
        "rope_theta": 10_000.0,
        "pad_token_id": 0,
    },
)
FAMILIES = (GTE, NEW)
