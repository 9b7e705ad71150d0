"""How many weights an encoder has, counted from its axes alone, before anything is built."""

from typing import TYPE_CHECKING

from viz_encoder.config.choices import Embedding, HeadPool, Norm, NormPlacement, Positions

if TYPE_CHECKING:
    from viz_encoder.config.encoder import EncoderConfig


def n_parameters(config: "EncoderConfig") -> int:
    """Embeddings, layers, norms and heads; a tied decoder counts as a table of its own."""
    attention, feed_forward = _attention(config), _feed_forward(config)
    layers = config.n_layers * (attention + feed_forward + 2 * _norm(config, config.d_model))
    if config.norm_placement is NormPlacement.PRE and not config.first_attn_norm:
        layers -= _norm(config, config.d_model)
    relative = config.relative_buckets * config.n_heads
    final = config.final_norm * _norm(config, config.d_model)
    heads = sum(head.n_parameters(config.d_model) for head in config.heads)
    probes = sum(head.pool is HeadPool.PROBE for head in config.heads)
    heads += probes * (config.d_model + attention + feed_forward + _norm(config, config.d_model))
    return _embeddings(config) + layers + relative + final + heads


def _linear(config: "EncoderConfig", part: str, width: int, out: int) -> int:
    return out * (width + config.has_bias(part))


def _norm(config: "EncoderConfig", width: int) -> int:
    biased = config.norm is Norm.LAYER and config.has_bias("norm")
    return width * (1 + biased)


def _attention(config: "EncoderConfig") -> int:
    inner = config.n_heads * config.d_head
    into = sum(_linear(config, part, config.d_model, inner) for part in "qkv")
    return into + _linear(config, "o", inner, config.d_model)


def _feed_forward(config: "EncoderConfig") -> int:
    wide = ("up", "gate") if config.gated else ("up",)
    into = sum(_linear(config, part, config.d_model, config.d_ff) for part in wide)
    return into + _linear(config, "down", config.d_ff, config.d_model)


def _embeddings(config: "EncoderConfig") -> int:
    learned = config.positions is Positions.LEARNED
    norm = config.embed_norm * _norm(config, config.d_embed)
    project = 0
    if config.d_embed != config.d_model:
        project = _linear(config, "project", config.d_embed, config.d_model)
    if config.embedding is Embedding.TOKEN:
        rows = config.vocab_size + config.n_segments + learned * config.max_positions
        return rows * config.d_embed + norm + project
    if config.embedding is Embedding.PATCH:
        pixels = config.n_channels * config.patch_size**2 + config.has_bias("patch")
        n_patches = config.grid[0] * config.grid[1]
        positions = learned * (len(config.prefix) + n_patches)
        return (pixels + len(config.prefix) + positions) * config.d_embed + norm + project
    return learned * config.max_positions * config.d_embed + norm + project
