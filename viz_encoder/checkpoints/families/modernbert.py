"""ModernBERT (Warner et al., 2024, arXiv:2412.13663): pre-norm, rotary, most layers look nearby."""

from collections.abc import Callable
from reprlib import repr as shown
from typing import Any

from viz_encoder.checkpoints import family
from viz_encoder.checkpoints.family import CarriedHead, Family, Json
from viz_encoder.config import EncoderConfig, HeadConfig, HeadPool, NormPlacement, Positions, Task
from viz_encoder.errors import CheckpointError

BIASES = {
    "attention_bias": ("q", "k", "v", "o"),
    "mlp_bias": ("up", "gate", "down"),
    "norm_bias": ("norm",),
}
KINDS = GLOBAL, LOCAL = "full_attention", "sliding_attention"
MOST_LAYERS = 10_000  # the list of global layers is written out before tensors are counted
POOLS = {"cls": HeadPool.CLS, "mean": HeadPool.MEAN}


def _config(file: Json) -> EncoderConfig:
    return EncoderConfig(
        **family.sizes(file),
        vocab_size=file["vocab_size"],
        n_segments=0,
        max_positions=file["max_position_embeddings"],
        positions=Positions.NONE,
        rotary_base=family.rotary_base(file, GLOBAL, "global_rope_theta"),
        rotary_base_local=family.rotary_base(file, LOCAL, "local_rope_theta"),
        norm_placement=NormPlacement.PRE,
        norm_eps=file["norm_eps"],
        first_attn_norm=False,
        final_norm=True,
        activation=family.activation(file["hidden_activation"]),
        gated=True,
        unbiased=family.without_bias(file, BIASES),
        dropout=file["mlp_dropout"],
        window=file["local_attention"] // 2,  # the file counts both sides
        global_layers=_global_layers(file),
    )


def _global_layers(file: Json) -> tuple[int, ...]:
    """Layers without a window: listed by layer_types, in older files every n-th from the first."""
    n_layers, kinds = file["num_hidden_layers"], file["layer_types"]
    if n_layers > MOST_LAYERS:
        raise CheckpointError(f"num_hidden_layers is {shown(n_layers)}; no ModernBERT is so deep.")
    if kinds is None:
        return tuple(range(0, n_layers, file["global_attn_every_n_layers"]))
    if not isinstance(kinds, list) or len(kinds) != n_layers or not set(kinds) <= set(KINDS):
        raise CheckpointError(
            f"layer_types is {shown(kinds)}; it must be {GLOBAL!r} or {LOCAL!r} for each layer."
        )
    return tuple(number for number, kind in enumerate(kinds) if kind == GLOBAL)


def _dense(file: Json, unbiased: tuple[str, ...] = ()) -> dict[str, Any]:
    """Dense layer, activation and norm, which every head has before its outputs."""
    biased = {"dense": file["classifier_bias"], "norm": file["norm_bias"]}
    return {
        "d_dense": file["hidden_size"],
        "activation": family.activation(file["classifier_activation"]),
        "norm": True,
        "unbiased": (*unbiased, *(part for part, has in biased.items() if not has)),
    }


def _masked(file: Json) -> HeadConfig:
    parts = _dense(file, () if file["decoder_bias"] else ("out",))
    return HeadConfig(task=Task.MASKED, n_out=file["vocab_size"], **parts)


def _classify(file: Json) -> HeadConfig:
    pool = family.chosen(file, "classifier_pooling", POOLS)
    return family.classes(file, task=Task.CLASSIFY, pool=pool, **_dense(file))


def _head(config: Callable[[Json], HeadConfig], task: str, out: str, only_for: str) -> CarriedHead:
    """All heads share the names of their first layers."""
    table = f"""
        head.dense.*    heads.{task}.dense.*
        head.norm.*     heads.{task}.norm.*
        {out}.*    heads.{task}.out.*
    """
    return CarriedHead(config, table, only_for)


FAMILY = Family(
    model_types=("modernbert",),
    defaults={
        "vocab_size": 50368,
        "hidden_size": 768,
        "intermediate_size": 1152,
        "num_hidden_layers": 22,
        "num_attention_heads": 12,
        "hidden_activation": "gelu",
        "max_position_embeddings": 8192,
        "norm_eps": 1e-5,
        "norm_bias": False,
        "attention_bias": False,
        "mlp_bias": False,
        "mlp_dropout": 0.0,
        "local_attention": 128,
        "layer_types": None,
        "global_attn_every_n_layers": 3,
        "global_rope_theta": 160_000.0,
        "local_rope_theta": 10_000.0,
        "decoder_bias": True,
        "classifier_bias": False,
        "classifier_activation": "gelu",
        "classifier_pooling": "cls",
        "pad_token_id": 50283,
    },
    config=_config,
    optional_prefixes=("model.",),
    tensors="""
        embeddings.tok_embeddings.weight    embed.tokens.word.weight
        embeddings.norm.*                   embed.norm.*
        layers.#.attn_norm.*                layers.#.attn_norm.*
        layers.#.attn.Wqkv.*                layers.#.attn.q|k|v.*
        layers.#.attn.Wo.*                  layers.#.attn.o.*
        layers.#.mlp_norm.*                 layers.#.ff_norm.*
        layers.#.mlp.Wi.*                   layers.#.ff.gate|up.*
        layers.#.mlp.Wo.*                   layers.#.ff.down.*
        final_norm.*                        final_norm.*
        head.*                              -  classification head
        decoder.*                           -  masked-token head
        classifier.*                        -  classification head
    """,
    heads=(
        _head(_masked, "masked", "decoder", "ForMaskedLM"),
        _head(_classify, "classify", "classifier", "ForSequenceClassification"),
        _head(
            lambda file: family.classes(file, task=Task.TOKENS, **_dense(file)),
            "tokens",
            "classifier",
            "ForTokenClassification",
        ),
    ),
)
FAMILIES = (FAMILY,)
