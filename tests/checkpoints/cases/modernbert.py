"""ModernBERT, with each of its heads, and with the settings of older files."""

import json
from functools import partial
from pathlib import Path
from typing import Any

from tests.checkpoints.parity import Case, builder, run_text

run = partial(run_text, norm="final_norm")
build = builder(
    "ModernBert", local_attention=8,
    pad_token_id=0, bos_token_id=2, cls_token_id=2, eos_token_id=3, sep_token_id=3,
)  # fmt: skip


def rotary(full: float, sliding: float) -> dict[str, Any]:
    kinds = {"full_attention": full, "sliding_attention": sliding}
    return {k: {"rope_type": "default", "rope_theta": base} for k, base in kinds.items()}


def older(model: Any, folder: Path) -> Any:
    """As files before transformers 5 have it: bases and layers by keys of their own."""
    model.save_pretrained(folder)
    reference = type(model).from_pretrained(folder, attn_implementation="eager")
    path = folder / "config.json"
    file = json.loads(path.read_text())
    bases = file.pop("rope_parameters")
    assert file.pop("layer_types") == ["full_attention", "sliding_attention", "full_attention"]
    file |= {
        "global_attn_every_n_layers": 2,
        "global_rope_theta": bases["full_attention"]["rope_theta"],
        "local_rope_theta": bases["sliding_attention"]["rope_theta"],
    }
    path.write_text(json.dumps(file))
    return reference


CASES = [
    Case("ModernBERT", "modernbert", build(), run(),
        wrong={
            "norm_eps": 1e-3, "hidden_activation": "gelu_new", "num_attention_heads": 6,
            "num_hidden_layers": 2, "local_attention": 10, "norm_bias": True,
            "attention_bias": True, "mlp_bias": True, "layer_types": ["full_attention"] * 3,
            "rope_parameters": rotary(160_000.0, 160_000.0),
        },
    ),
    Case("ModernBERT, biased", "modernbert",
        build("Model", norm_bias=True, attention_bias=True, mlp_bias=True,
              hidden_activation="silu"), run(),
        wrong={"local_attention": 6, "rope_parameters": rotary(10_000.0, 10_000.0),
               "layer_types": ["sliding_attention"] * 3},
    ),
    Case("ModernBERT, older file", "modernbert",
        build("Model", rope_parameters=rotary(5000.0, 300.0),
              layer_types=["full_attention", "sliding_attention", "full_attention"]), run(),
        save=older,
        wrong={"global_attn_every_n_layers": 3, "global_rope_theta": 160_000.0,
               "local_rope_theta": 10_000.0, "rope_scaling": {"type": "linear", "factor": 2.0}},
    ),
    Case("ModernBERT for masked tokens", "modernbert", build("ForMaskedLM"),
         run("masked"), wrong={"decoder_bias": False, "classifier_bias": True}),
    Case("ModernBERT for masked tokens, biased", "modernbert",
         build("ForMaskedLM", classifier_bias=True, decoder_bias=False, norm_bias=True),
         run("masked")),
    Case("ModernBERT, 3 labels", "modernbert",
         build("ForSequenceClassification", num_labels=3), run("classify"),
         wrong={"classifier_pooling": "mean", "classifier_activation": "gelu_new"}),
    Case("ModernBERT, 3 labels by the mean", "modernbert",
         build("ForSequenceClassification", num_labels=3, classifier_pooling="mean"),
         run("classify"), wrong={"classifier_pooling": "cls"}),
    Case("ModernBERT, 5 token labels", "modernbert",
         build("ForTokenClassification", num_labels=5), run("tokens")),
]  # fmt: skip
