"""Encoders saved by this package: the config is EncoderConfig's own axes, the names are ours."""

from dataclasses import fields

from viz_encoder.checkpoints.family import Family, Json
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import CheckpointError


def _config(file: Json) -> EncoderConfig:
    axes = file["encoder"]
    if not isinstance(axes, dict):
        raise CheckpointError(f"config.json's encoder is {type(axes).__name__}, not an object.")
    unknown = sorted(set(axes) - {field.name for field in fields(EncoderConfig)})
    if unknown:
        raise CheckpointError(f"config.json names axes we don't have: {', '.join(unknown)[:200]}.")
    return EncoderConfig(**axes)


FAMILY = Family(
    model_types=("viz_encoder",),
    defaults={"encoder": {}, "pad_token_id": 0},
    config=_config,
    tensors="""
        embed.tokens.word.weight       embed.tokens.word.weight
        embed.tokens.segment.weight    embed.tokens.segment.weight
        embed.tokens.patch.*           embed.tokens.patch.*
        embed.tokens.prefix            embed.tokens.prefix
        embed.position                 embed.position
        embed.norm.*                   embed.norm.*
        layers.#.attn.q.*              layers.#.attn.q.*
        layers.#.attn.k.*              layers.#.attn.k.*
        layers.#.attn.v.*              layers.#.attn.v.*
        layers.#.attn.o.*              layers.#.attn.o.*
        layers.#.attn_norm.*           layers.#.attn_norm.*
        layers.#.ff.up.*               layers.#.ff.up.*
        layers.#.ff.down.*             layers.#.ff.down.*
        layers.#.ff_norm.*             layers.#.ff_norm.*
        final_norm.*                   final_norm.*
        classifier.*                   classifier.*
    """,
)
