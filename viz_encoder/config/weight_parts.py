"""Counts an encoder's weights part by part, with formulas, and a layer's cost."""

from dataclasses import dataclass

from viz_encoder.config.axes import Axes
from viz_encoder.config.choices import Embedding, HeadPool, Norm, NormPlacement, Positions


@dataclass(frozen=True)
class WeightPart:
    """One part: its name, its formula, and its number of weights."""

    name: str
    formula: str
    count: int


@dataclass(frozen=True)
class LayerCost:
    """Multiplications of one layer for T tokens; scores and values cost as much as FFN at equal_at.

    projections: T · 4 · D · h·d_head. scores: Q Kᵀ and A V, 2 · T² · h·d_head. feed_forward: two
    matrices, or three where it is gated, of T · D · D_ff.
    """

    projections: int
    scores: int
    feed_forward: int
    equal_at: int


def weight_parts(config: Axes) -> tuple[WeightPart, ...]:
    """The parts in the order in which an input meets them; their counts add up to all weights.

    V: words, T: positions, D: d_model, E: d_embed where it differs, L: layers, h: heads.
    """
    layers = [_attention(config), _feed_forward(config), _norms(config)]
    parts = [*_embeddings(config), *layers]
    if config.relative_buckets:
        count = config.relative_buckets * config.n_heads
        parts.append(WeightPart("relative positions", "buckets · h", count))
    if config.final_norm:
        parts.append(WeightPart("final norm", _norm_formula(config), _norm(config, config.d_model)))
    if heads := config.prediction_heads:
        probe = config.d_model + sum(part.count for part in layers[:2]) // config.n_layers
        probe += _norm(config, config.d_model)
        count = sum(head.n_parameters(config.d_model) for head in heads)
        count += sum(head.pool is HeadPool.PROBE for head in heads) * probe
        parts += [WeightPart("prediction heads", "", count)] if count else []
    return tuple(parts)


def layer_cost(config: Axes, n_tokens: int) -> LayerCost:
    """Multiplications in one layer, without biases and norms."""
    inner = config.n_heads * config.d_head
    n_matrices = 3 if config.gated else 2
    return LayerCost(
        projections=4 * n_tokens * config.d_model * inner,
        scores=2 * n_tokens**2 * inner,
        feed_forward=n_matrices * n_tokens * config.d_model * config.d_ff,
        equal_at=round(n_matrices * config.d_model * config.d_ff / (2 * inner)),
    )


def _embeddings(config: Axes) -> list[WeightPart]:
    width = config.d_embed
    letter = "D" if width == config.d_model else "E"
    parts = []
    if config.embedding is Embedding.TOKEN:
        parts.append(WeightPart("token embeddings", f"V · {letter}", config.vocab_size * width))
        if config.n_segments:
            segments = WeightPart(
                "segment embeddings", f"segments · {letter}", config.n_segments * width
            )
            parts.append(segments)
    n_positions = config.max_positions
    if config.embedding is Embedding.PATCH:
        n_positions = len(config.prefix) + config.grid[0] * config.grid[1]
        bias = config.has_bias("patch")
        count = width * (config.n_channels * config.patch_size**2 + bias)
        formula = "(channels · P² + 1)" if bias else "channels · P²"
        parts.append(WeightPart("patch embedding", f"{formula} · {letter}", count))
        if config.prefix:
            prefix = WeightPart("prefix tokens", f"n · {letter}", len(config.prefix) * width)
            parts.append(prefix)
    if config.positions is Positions.LEARNED:
        parts.append(WeightPart("position embeddings", f"T · {letter}", n_positions * width))
    if config.embed_norm:
        formula = _norm_formula(config).replace("D", letter)
        parts.append(WeightPart("embedding norm", formula, _norm(config, width)))
    if width != config.d_model:
        count = config.d_model * (width + config.has_bias("project"))
        parts.append(WeightPart("projection to d_model", "E · D + D", count))
    return parts


def _norms(config: Axes) -> WeightPart:
    n_norms = 2 * config.n_layers
    times = "L · 2"
    if config.norm_placement is NormPlacement.PRE and not config.first_attn_norm:
        n_norms, times = n_norms - 1, "(2 · L − 1)"
    count = n_norms * _norm(config, config.d_model)
    return WeightPart("norms", f"{times} · {_norm_formula(config)}", count)


def _attention(config: Axes) -> WeightPart:
    d_model, inner = config.d_model, config.n_heads * config.d_head
    biases = sum(config.has_bias(part) for part in "qkv") * inner + config.has_bias("o") * d_model
    formula = "4 · D²" if inner == d_model else "4 · D · h · d_head"
    if biases:
        whole = inner == d_model and all(config.has_bias(part) for part in "qkvo")
        formula = f"({formula} + {'4 · D' if whole else 'biases'})"
    count = config.n_layers * (4 * d_model * inner + biases)
    return WeightPart("attention: W_q, W_k, W_v, W_O", f"L · {formula}", count)


def _feed_forward(config: Axes) -> WeightPart:
    wide = ("up", "gate") if config.gated else ("up",)
    n_matrices = len(wide) + 1
    n_wide = sum(config.has_bias(part) for part in wide)
    formula = f"{n_matrices} · D · D_ff"
    terms = [("D_ff", "2 · D_ff")[n_wide - 1]] if n_wide else []
    terms += ["D"] if config.has_bias("down") else []
    if terms:
        formula = f"({' + '.join([formula, *terms])})"
    weights = n_matrices * config.d_model * config.d_ff
    biases = n_wide * config.d_ff + config.has_bias("down") * config.d_model
    count = config.n_layers * (weights + biases)
    return WeightPart("feed-forward network", f"L · {formula}", count)


def _norm(config: Axes, width: int) -> int:
    return width * (1 + (config.norm is Norm.LAYER and config.has_bias("norm")))


def _norm_formula(config: Axes) -> str:
    return "2 · D" if _norm(config, 1) == 2 else "D"
