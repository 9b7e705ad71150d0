"""GTE v1.5, with each of its heads, and as its own first files have it (model_type "new")."""

import json
from functools import partial
from pathlib import Path
from typing import Any

from tests.checkpoints.parity import Case, builder, pooled, run_text

LINEAR = {"rope_type": "linear", "rope_theta": 1000.0, "factor": 2.5}
run = partial(run_text, segments=True)
build = builder("Gte", pad_token_id=0)


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


CASES = [
    Case("GTE", "gte", build(), run(),
        wrong={
            "layer_norm_eps": 1e-3, "hidden_act": "gelu_new", "num_attention_heads": 6,
            "num_hidden_layers": 2, "type_vocab_size": 0,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0},
        },
    ),
    Case("GTE, 2 segments, scaled", "gte",
         build("Model", type_vocab_size=2, rope_parameters=LINEAR), run(),
         wrong={"rope_parameters": {**LINEAR, "factor": 2.0}}),
    Case("GTE, no segments", "gte", build("Model", type_vocab_size=0), run()),
    Case("GTE as new, scaled", "new", build("ForMaskedLM"), run("masked"), save=ntk,
        wrong={
            "rope_theta": 10_000, "position_embedding_type": "absolute",
            "logn_attention_scale": True, "layer_norm_type": "rms_norm",
            "rope_scaling": {"type": "ntk", "factor": 8.0, "mixed_b": 0.6},
        },
    ),
    Case("GTE as new", "new", build(), run(), save=ntk,
         wrong={"rope_scaling": {"type": "ntk", "factor": 7.5}}),
    Case("GTE as new, 3 labels", "new", build("ForSequenceClassification", num_labels=3),
         run("classify"), save=ntk, wrong={"rope_scaling": None}),
    Case("GTE, pooled", "gte", build(add_pooling_layer=True), run("pool"), save=pooled),
    Case("GTE for masked tokens", "gte", build("ForMaskedLM"), run("masked")),
    Case("GTE for masked tokens, SiLU", "gte", build("ForMaskedLM", hidden_act="silu"),
         run("masked")),
    Case("GTE, 3 labels", "gte", build("ForSequenceClassification", num_labels=3), run("classify")),
    Case("GTE, 5 token labels", "gte", build("ForTokenClassification", num_labels=5),
         run("tokens")),
]  # fmt: skip
