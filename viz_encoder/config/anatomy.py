"""Anatomy of an encoder: its parts in the field's terms, each with its equation."""

from dataclasses import dataclass

from viz_encoder.config.choices import (
    Activation,
    Embedding,
    HeadPool,
    Norm,
    NormPlacement,
    Positions,
    Task,
)
from viz_encoder.config.encoder import EncoderConfig
from viz_encoder.config.head import HeadConfig
from viz_encoder.shown import counted

NAMES = {
    Activation.RELU: "ReLU",
    Activation.GELU: "GELU",
    Activation.GELU_TANH: "GELU (tanh approximation)",
    Activation.QUICK_GELU: "QuickGELU",
    Activation.SILU: "SiLU",
    Activation.TANH: "tanh",
}
FORMULAS = {
    Activation.RELU: "max(0, x)",
    Activation.GELU: "x · Φ(x)",
    Activation.GELU_TANH: "x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))",
    Activation.QUICK_GELU: "x · σ(1.702 x)",
    Activation.SILU: "x · σ(x)",
    Activation.TANH: "tanh(x)",
}
HEADS = {
    Task.MASKED: "which token stands at each [MASK]",
    Task.CLASSIFY: "one label for the input",
    Task.TOKENS: "one label for each token",
    Task.REPLACED: "how likely it is that each token was replaced",
    Task.POOL: "one vector for the input",
}


@dataclass(frozen=True)
class Part:
    """One part: its name, its variant here, and its equation ("" if none)."""

    name: str
    words: str
    equation: str = ""


def anatomy(config: EncoderConfig) -> tuple[Part, ...]:
    """The parts in the order in which an input meets them."""
    parts = [_input(config), _positions(config)]
    if config.embed_norm:
        parts.append(Part("Embedding norm", "before the first block", "x ← norm(x)"))
    parts += [_blocks(config), _norm(config)]
    parts += [_attention(config), _mask(config), _feed_forward(config)]
    if config.final_norm:
        parts.append(Part("Final norm", "after the last block", "output = norm(x)"))
    parts += [_head(config, head) for head in config.prediction_heads]
    return tuple(parts)


def _input(config: EncoderConfig) -> Part:
    narrow = config.d_embed != config.d_model
    wide = f", projected from {config.d_embed} to {config.d_model}" if narrow else ""
    if config.embedding is Embedding.TOKEN:
        segments = f" and {config.n_segments} segments" if config.n_segments else ""
        table = " + S[segment]" if config.n_segments else ""
        words = f"a vocabulary of {config.vocab_size:,} tokens{segments}{wide}"
        return Part("Input", words, f"x = E[token]{table}")
    if config.embedding is Embedding.PATCH:
        height, width = config.image_size
        prefix = f" after {', '.join(config.prefix)}" if config.prefix else ""
        side = config.patch_size
        words = f"{height} × {width} pixels in patches of {side} × {side}{prefix}{wide}"
        return Part("Input", words, "x = W · pixels + b")
    return Part("Input", f"vectors of {config.d_embed} numbers{wide}")


def _positions(config: EncoderConfig) -> Part:
    ways, equations = [], []
    if config.positions is Positions.LEARNED:
        ways.append("learned, one vector per position")
        equations.append("x ← x + P[position]")
    if config.positions is Positions.SINUSOIDAL:
        ways.append("sines and cosines of fixed frequencies")
        equations.append("P[t, 2i] = sin(t / 10000^(2i/d)), P[t, 2i+1] = cos(…)")
    if config.rotary_base is not None:
        by = "by row and column of the patch" if config.rotary_grid else "by position"
        base = f"base {config.rotary_base:,.0f}"
        if config.rotary_base_local is not None:
            base += f", {config.rotary_base_local:,.0f} in local layers"
        if config.rotary_stretch != 1:
            base += f", positions / {config.rotary_stretch:.3g}"
        ways.append(f"rotary: queries and keys rotated {by} ({base})")
        equations.append("q ← R(t) q, k ← R(t) k")
    if config.relative_buckets:
        ways.append(
            f"relative: a learned bias for each of {config.relative_buckets} distance buckets"
        )
        equations.append("score ← score + b[key − query]")
    said = "; ".join(ways) or "none: the model does not know the order"
    return Part("Positions", said, "; ".join(equations))


def _blocks(config: EncoderConfig) -> Part:
    pre = config.norm_placement is NormPlacement.PRE
    words = f"{counted(config.n_layers, 'block')}, d_model {config.d_model}, "
    words += f"{'pre' if pre else 'post'}-norm"
    equation = "x ← x + f(norm(x))" if pre else "x ← norm(x + f(x))"
    return Part("Blocks", words, f"{equation}, f = attention, then feed-forward")


def _norm(config: EncoderConfig) -> Part:
    eps = f"ε = {config.norm_eps:g}"
    first = "" if config.first_attn_norm else "; none before the first attention"
    if config.norm is Norm.RMS:
        return Part("Norm", f"RMSNorm, {eps}{first}", "norm(x) = γ · x / √(mean(x²) + ε)")
    bias = " + β" if config.has_bias("norm") else ""
    return Part("Norm", f"LayerNorm, {eps}{first}", f"norm(x) = γ · (x − mean) / √(var + ε){bias}")


def _attention(config: EncoderConfig) -> Part:
    missing = [part for part in "qkvo" if not config.has_bias(part)]
    bias = f"; no bias in {', '.join(missing)}" if missing else ""
    words = f"{counted(config.n_heads, 'head')}, d_head {config.d_head}{bias}"
    return Part("Attention", words, f"A = softmax(Q Kᵀ{_scale(config)}), f(x) = W_O · (A V) + b_O")


def _scale(config: EncoderConfig) -> str:
    if config.scale is None:
        return " / √d_head"
    return "" if config.scale == 1 else f" · {config.scale:g}"


def _mask(config: EncoderConfig) -> Part:
    rules = ["a token may attend to every real token"]
    equation = "padding: A[q, k] = 0"
    if config.causal:
        rules = ["a token may attend to itself and the tokens before it"]
        equation = "k > q: A[q, k] = 0"
    if config.window is not None:
        whole = f", except in layers {', '.join(map(str, config.global_layers))}"
        rules.append(f"within {config.window} tokens{whole * bool(config.global_layers)}")
        equation += f"; |q − k| > {config.window}: A[q, k] = 0"
    return Part("Mask", ", ".join(rules), equation)


def _feed_forward(config: EncoderConfig) -> Part:
    name, formula = NAMES[config.activation], FORMULAS[config.activation]
    if config.gated:
        words, equation = f"gated {name}", "f(x) = W₂ · (act(W_G x) · (W₁ x))"
    else:
        words, equation = name, "f(x) = W₂ · act(W₁ x + b₁) + b₂"
    return Part("Feed-forward", f"d_ff {config.d_ff}, {words}", f"{equation}, act(x) = {formula}")


def _head(config: EncoderConfig, head: HeadConfig) -> Part:
    name, words = f"Prediction head: {head.task}", HEADS[head.task]
    if head.pool is not HeadPool.PROBE:
        return Part(name, words)
    words += f", by a learned query that looks at all tokens with {config.n_heads} heads"
    weights = f"A = softmax(q Kᵀ{_scale(config)})"
    return Part(name, words, f"{weights}, x = W_O · (A V) + b_O, out = x + f(norm(x))")
