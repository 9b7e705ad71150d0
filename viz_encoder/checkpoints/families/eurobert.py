"""EuroBERT (Boizard et al., 2025, arXiv:2503.05500): pre-norm RMSNorm, rotary, shared keys."""

from viz_encoder.checkpoints import family
from viz_encoder.checkpoints.family import CarriedHead, Family, Json
from viz_encoder.checkpoints.surgery import repeat_key_values
from viz_encoder.checkpoints.tables import TOKEN_LABELS
from viz_encoder.config import (
    Activation,
    EncoderConfig,
    HeadConfig,
    HeadPool,
    Norm,
    NormPlacement,
    Positions,
    Task,
)

BIASES = {"attention_bias": ("q", "k", "v", "o"), "mlp_bias": ("up", "gate", "down")}
POOLS = {"bos": HeadPool.CLS, "mean": HeadPool.MEAN, "late": HeadPool.LATE}


def _config(file: Json) -> EncoderConfig:
    return EncoderConfig(
        **family.sizes(file),
        d_head=file["head_dim"] or 0,
        vocab_size=file["vocab_size"],
        n_segments=0,
        max_positions=file["max_position_embeddings"],
        positions=Positions.NONE,
        rotary_base=family.rotary_base(file),
        norm=Norm.RMS,
        norm_placement=NormPlacement.PRE,
        norm_eps=file["rms_norm_eps"],
        embed_norm=False,
        final_norm=True,
        activation=family.activation(file["hidden_act"]),
        gated=True,
        unbiased=family.without_bias(file, BIASES),
        dropout=0.0,
    )


def _masked(file: Json) -> HeadConfig:
    biased = file["mlp_bias"]
    return HeadConfig(Task.MASKED, n_out=file["vocab_size"], unbiased=() if biased else ("out",))


def _classify(file: Json) -> HeadConfig:
    return family.classes(
        file,
        task=Task.CLASSIFY,
        pool=family.chosen(file, "classifier_pooling", POOLS),
        d_dense=file["hidden_size"],
        activation=Activation.GELU,
    )


FAMILY = Family(
    model_types=("eurobert",),
    defaults={
        "vocab_size": 128256,
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "head_dim": None,
        "hidden_act": "silu",
        "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10_000.0,
        "attention_bias": False,
        "mlp_bias": False,
        "classifier_pooling": "late",
        "pad_token_id": 128001,
    },
    config=_config,
    optional_prefixes=("model.",),
    tensors="""
        embed_tokens.weight                            embed.tokens.word.weight
        layers.#.input_layernorm.weight                layers.#.attn_norm.weight
        layers.#.self_attn.q_proj.*                    layers.#.attn.q.*
        layers.#.self_attn.k_proj.*                    layers.#.attn.k.*
        layers.#.self_attn.v_proj.*                    layers.#.attn.v.*
        layers.#.self_attn.o_proj.*                    layers.#.attn.o.*
        layers.#.post_attention_layernorm.weight       layers.#.ff_norm.weight
        layers.#.mlp.gate_proj.*                       layers.#.ff.gate.*
        layers.#.mlp.up_proj.*                         layers.#.ff.up.*
        layers.#.mlp.down_proj.*                       layers.#.ff.down.*
        norm.weight                                    final_norm.weight
        classifier.*                                   -  classification head
        dense.*                                        -  classification head
    """,
    heads=(
        CarriedHead(_masked, "lm_head.*    heads.masked.out.*"),
        CarriedHead(
            _classify,
            """
            dense.*         heads.classify.dense.*
            classifier.*    heads.classify.out.*
            """,
            only_for="ForSequenceClassification",
        ),
        TOKEN_LABELS,
    ),
    adapt=repeat_key_values,
)
FAMILIES = (FAMILY,)
