"""Encoders saved by this package: the config is EncoderConfig's own axes, the names are ours."""

from viz_encoder.checkpoints.family import Family, Json
from viz_encoder.config import EncoderConfig, Task
from viz_encoder.errors import CheckpointError
from viz_encoder.model.saving import MODEL_TYPE


def _config(file: Json) -> EncoderConfig:
    axes = file["encoder"]
    if not isinstance(axes, dict):
        raise CheckpointError(f"config.json's encoder is {type(axes).__name__}, not an object.")
    return EncoderConfig.from_axes(axes)


# One layer's tensors: once per layer, or once for all that share them.
LAYER = """
    layers.#.attn.q.*              layers.#.attn.q.*
    layers.#.attn.k.*              layers.#.attn.k.*
    layers.#.attn.v.*              layers.#.attn.v.*
    layers.#.attn.o.*              layers.#.attn.o.*
    layers.#.attn_norm.*           layers.#.attn_norm.*
    layers.#.ff.up.*               layers.#.ff.up.*
    layers.#.ff.gate.*             layers.#.ff.gate.*
    layers.#.ff.down.*             layers.#.ff.down.*
    layers.#.ff_norm.*             layers.#.ff_norm.*
"""
PROBE = ("q", "k", "v", "o", "norm", "ff.up", "ff.gate", "ff.down")
HEAD = ("dense.*", "norm.*", "out.*", "probe.query", *(f"probe.{part}.*" for part in PROBE))
HEADS = [f"heads.{task}.{part}" for task in Task for part in HEAD]
FAMILY = Family(
    model_types=(MODEL_TYPE,),
    defaults={"encoder": {}},
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
        final_norm.*                   final_norm.*
    """
    + LAYER
    + LAYER.replace("#", "all")
    + "\n".join(f"{name}    {name}" for name in HEADS),
)
FAMILIES = (FAMILY,)
