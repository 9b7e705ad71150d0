"""GTE v1.5, with each of its heads, and as its own first files have it (model_type "new")."""

import json
from functools import partial
from pathlib import Path
from typing import Any

from transformers.models.gte.configuration_gte import GteConfig
from transformers.models.gte.modeling_gte import (
    GteForMaskedLM,
    GteForSequenceClassification,
    GteForTokenClassification,
    GteModel,
)

from tests.checkpoints.parity import N_WORDS, Case, run_text

SIZES = {
    "vocab_size": N_WORDS, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 19, "pad_token_id": 0,
}  # fmt: skip
LINEAR = {"rope_type": "linear", "rope_theta": 1000.0, "factor": 2.5}
run = partial(run_text, segments=True)


def build(kind: type, **settings: Any):
    return lambda: kind(GteConfig(**{**SIZES, **settings}))


def ntk(model: Any, folder: Path) -> Any:
    """As the hub's "new" files have it; the reference's rates are set to what those files mean.

    That is rate i = 1 / (base · factor)^(2i / d), divided by factor^(2 / d), for heads of width d.
    """
    model.save_pretrained(folder)
    reference = type(model).from_pretrained(folder, attn_implementation="eager")
    base, factor, width = 20_000, 8.0, 6
    rates = [(base * factor) ** (-2 * i / width) / factor ** (2 / width) for i in range(width // 2)]
    buffer = reference.base_model.rotary_emb.inv_freq
    buffer.copy_(buffer.new_tensor(rates))
    path = folder / "config.json"
    file = json.loads(path.read_text())
    del file["rope_parameters"]
    file |= {
        "model_type": "new", "rope_theta": base, "rope_scaling": {"type": "ntk", "factor": factor},
        "position_embedding_type": "rope", "layer_norm_type": "layer_norm",
        "logn_attention_scale": False, "pack_qkv": True, "unpad_inputs": False,
    }  # fmt: skip
    path.write_text(json.dumps(file))
    return reference


def pooled(model: Any, folder: Path) -> Any:
    """With the pooler, which from_pretrained leaves out unless it is asked for."""
    model.save_pretrained(folder)
    return type(model).from_pretrained(folder, attn_implementation="eager", add_pooling_layer=True)


CASES = [
    Case("GTE", "gte", build(GteModel), run(),
        wrong={
            "layer_norm_eps": 1e-3, "hidden_act": "gelu_new", "num_attention_heads": 6,
            "num_hidden_layers": 2, "type_vocab_size": 0,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0},
        },
    ),
    Case("GTE, 2 segments, scaled", "gte",
         build(GteModel, type_vocab_size=2, rope_parameters=LINEAR), run(),
         wrong={"rope_parameters": {**LINEAR, "factor": 2.0}}),
    Case("GTE, no segments", "gte", build(GteModel, type_vocab_size=0), run()),
    Case("GTE as new, scaled", "new", build(GteForMaskedLM), run("masked"), save=ntk,
        wrong={
            "rope_theta": 10_000, "position_embedding_type": "absolute",
            "logn_attention_scale": True, "layer_norm_type": "rms_norm",
            "rope_scaling": {"type": "ntk", "factor": 8.0, "mixed_b": 0.6},
        },
    ),
    Case("GTE as new", "new", build(GteModel), run(), save=ntk,
         wrong={"rope_scaling": {"type": "ntk", "factor": 7.5}}),
    Case("GTE as new, 3 labels", "new", build(GteForSequenceClassification, num_labels=3),
         run("classify"), save=ntk, wrong={"rope_scaling": None}),
    Case("GTE, pooled", "gte",
         lambda: GteModel(GteConfig(**SIZES), add_pooling_layer=True), run("pool"), save=pooled),
    Case("GTE for masked tokens", "gte", build(GteForMaskedLM), run("masked")),
    Case("GTE for masked tokens, SiLU", "gte", build(GteForMaskedLM, hidden_act="silu"),
         run("masked")),
    Case("GTE, 3 labels", "gte", build(GteForSequenceClassification, num_labels=3),
         run("classify")),
    Case("GTE, 5 token labels", "gte", build(GteForTokenClassification, num_labels=5),
         run("tokens")),
]  # fmt: skip
