"""Encoders saved by this package: the config is EncoderConfig's own axes, the names are ours."""

from viz_encoder.checkpoints.family import Family, Json
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import CheckpointError


def _config(file: Json) -> EncoderConfig:
    axes = file["encoder"]
    if not isinstance(axes, dict):
        raise CheckpointError(f"config.json's encoder is {type(axes).__name__}, not an object.")
    return EncoderConfig.from_axes(axes)


FAMILY = Family(
    model_types=("viz_encoder",),
    defaults={"encoder": {}, "pad_token_id": 0},
    config=_config,
    tensors="""
        relative                       relative
        embed.project.*                embed.project.*
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
        layers.#.ff.gate.*             layers.#.ff.gate.*
        layers.#.ff.down.*             layers.#.ff.down.*
        layers.#.ff_norm.*             layers.#.ff_norm.*
        final_norm.*                   final_norm.*
        heads.masked.dense.*           heads.masked.dense.*
        heads.masked.norm.*            heads.masked.norm.*
        heads.masked.out.*             heads.masked.out.*
        heads.classify.dense.*         heads.classify.dense.*
        heads.classify.norm.*          heads.classify.norm.*
        heads.classify.out.*           heads.classify.out.*
        heads.tokens.out.*             heads.tokens.out.*
        heads.pool.dense.*             heads.pool.dense.*
        heads.pool.probe.query         heads.pool.probe.query
        heads.pool.probe.q.*           heads.pool.probe.q.*
        heads.pool.probe.k.*           heads.pool.probe.k.*
        heads.pool.probe.v.*           heads.pool.probe.v.*
        heads.pool.probe.o.*           heads.pool.probe.o.*
        heads.pool.probe.norm.*        heads.pool.probe.norm.*
        heads.pool.probe.ff.up.*       heads.pool.probe.ff.up.*
        heads.pool.probe.ff.gate.*     heads.pool.probe.ff.gate.*
        heads.pool.probe.ff.down.*     heads.pool.probe.ff.down.*
    """,
)
FAMILIES = (FAMILY,)
