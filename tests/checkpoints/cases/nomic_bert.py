"""Nomic BERT, with each of its heads, and with the settings of older files."""

import json
from functools import partial
from pathlib import Path
from typing import Any

from tests.checkpoints.parity import N_WORDS, Case, builder, pooled, run_text

run = partial(run_text, segments=True)
build = builder("NomicBert")


def older(model: Any, folder: Path) -> Any:
    """As the first files have it: GPT-2's names for the sizes, and switches of their own."""
    model.save_pretrained(folder)
    reference = type(model).from_pretrained(folder, attn_implementation="eager")
    file = {
        "model_type": "nomic_bert", "architectures": ["NomicBertModel"], "vocab_size": N_WORDS,
        "n_embd": 24, "n_layer": 3, "n_head": 4, "n_inner": 40, "n_positions": 19,
        "activation_function": "swiglu", "layer_norm_epsilon": 1e-12, "type_vocab_size": 2,
        "rotary_emb_base": 500, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False,
        "rotary_scaling_factor": None, "prenorm": False, "qkv_proj_bias": False, "causal": False,
        "mlp_fc1_bias": False, "mlp_fc2_bias": False, "resid_pdrop": 0.0,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(file))
    return reference


CASES = [
    Case("Nomic BERT", "nomic_bert", build(), run(),
        wrong={
            "layer_norm_eps": 1e-3, "hidden_act": "gelu", "num_attention_heads": 6,
            "num_hidden_layers": 2, "type_vocab_size": 1, "head_dim": 12,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0},
            "rope_scaling": {"rope_type": "dynamic", "factor": 2.0},
        },
    ),
    Case("Nomic BERT, pooled", "nomic_bert", build(add_pooling_layer=True), run("pool"),
         save=pooled),
    Case("Nomic BERT, older file", "nomic_bert",
        build("Model", rope_parameters={"rope_type": "default", "rope_theta": 500.0}),
        run(), save=older,
        wrong={
            "layer_norm_epsilon": 1e-3, "activation_function": "geglu", "n_head": 6,
            "rotary_emb_base": 1000, "rotary_emb_fraction": 0.5, "rotary_emb_interleaved": True,
            "rotary_scaling_factor": 2, "prenorm": True, "qkv_proj_bias": True, "causal": True,
        },
    ),
    Case("Nomic BERT for masked tokens", "nomic_bert", build("ForMaskedLM"), run("masked"),
         wrong={"hidden_act": "gelu"}),
    Case("Nomic BERT, 3 labels", "nomic_bert",
         build("ForSequenceClassification", num_labels=3), run("classify")),
    Case("Nomic BERT, 5 token labels", "nomic_bert",
         build("ForTokenClassification", num_labels=5), run("tokens")),
]  # fmt: skip
