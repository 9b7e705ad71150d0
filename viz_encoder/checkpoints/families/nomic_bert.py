"""Nomic BERT (Nussbaum et al., 2024, arXiv:2402.01613): BERT with rotary positions and a gate."""

from viz_encoder.checkpoints import family, tables
from viz_encoder.checkpoints.family import CarriedHead, Family, Json, Shapes
from viz_encoder.config import EncoderConfig, Positions

# Names of the same settings in files that predate transformers' support.
OLDER = {
    "n_embd": "hidden_size",
    "n_head": "num_attention_heads",
    "n_inner": "intermediate_size",
    "n_layer": "num_hidden_layers",
    "n_positions": "max_position_embeddings",
    "activation_function": "hidden_act",
    "layer_norm_epsilon": "layer_norm_eps",
    "rotary_emb_base": "rope_theta",
    "resid_pdrop": "hidden_dropout_prob",
}
GATED = {"swiglu": "silu", "geglu": "gelu"}
# Switches of those files that change the model, as all released ones but the mixtures have them.
FIXED: Json = {
    "prenorm": False,
    "parallel_block": False,
    "use_rms_norm": False,
    "causal": False,
    "qkv_proj_bias": False,
    "mlp_fc1_bias": False,
    "mlp_fc2_bias": False,
    "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False,
    "rotary_emb_scale_base": None,
    "rotary_scaling_factor": None,
}


def _complete(file: Json, shapes: Shapes) -> Json:
    """Older files' settings under their newer names."""
    named = {new: file[old] for old, new in OLDER.items() if old in file}
    function = named.get("hidden_act")
    if isinstance(function, str):
        named["hidden_act"] = GATED.get(function, function)
    return {**file, **named}


def _config(file: Json) -> EncoderConfig:
    family.require_fixed(file, FIXED, "Nomic BERT")
    return EncoderConfig(
        **family.text_axes(file),
        d_head=file["head_dim"] or 0,
        positions=Positions.NONE,
        rotary_base=family.rotary_base(file),
        gated=True,
        unbiased=("q", "k", "v", "o", "up", "gate", "down"),
    )


FAMILY = Family(
    model_types=("nomic_bert",),
    defaults={
        **FIXED,
        **tables.BERT_SIZES,
        "vocab_size": 30528,
        "head_dim": None,
        "hidden_act": "silu",
        "hidden_dropout_prob": 0.0,
        "max_position_embeddings": 2048,
        "rope_theta": 1000.0,
    },
    config=_config,
    complete=_complete,
    optional_prefixes=("nomic_bert.", "bert."),
    tensors="""
        embeddings.word_embeddings.weight         embed.tokens.word.weight
        embeddings.token_type_embeddings.weight   embed.tokens.segment.weight
        emb_ln.*                                  embed.norm.*
        encoder.layers.#.attn.Wqkv.weight         layers.#.attn.q|k|v.weight
        encoder.layers.#.attn.out_proj.weight     layers.#.attn.o.weight
        encoder.layers.#.norm1.*                  layers.#.attn_norm.*
        encoder.layers.#.mlp.fc11.weight          layers.#.ff.up.weight
        encoder.layers.#.mlp.fc12.weight          layers.#.ff.gate.weight
        encoder.layers.#.mlp.fc2.weight           layers.#.ff.down.weight
        encoder.layers.#.norm2.*                  layers.#.ff_norm.*
        classifier.*                              -  classification head
    """,
    heads=(
        CarriedHead(
            tables.masked(),
            """
            cls.predictions.transform.dense.*         heads.masked.dense.*
            cls.predictions.transform.layer_norm.*    heads.masked.norm.*
            cls.predictions.decoder.*                 heads.masked.out.*
            cls.predictions.bias                      heads.masked.out.bias?
            """,
        ),
        tables.BERT_CLASSES,
        tables.TOKEN_LABELS,
        tables.BERT_POOLER,
    ),
    wordpiece=True,
)
FAMILIES = (FAMILY,)
