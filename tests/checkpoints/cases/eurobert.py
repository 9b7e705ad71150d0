"""EuroBERT, with shared keys and values, and each of its heads."""

from functools import partial

from tests.checkpoints.parity import Case, builder, run_text

run = partial(run_text, norm="norm")
build = builder(
    "EuroBert",
    num_key_value_heads=2,
    pad_token_id=0,
    bos_token_id=2,
    eos_token_id=3,
    mask_token_id=4,
)


CASES = [
    Case("EuroBERT", "eurobert", build(), run(),
        wrong={
            "rms_norm_eps": 1e-3, "hidden_act": "gelu", "num_attention_heads": 6,
            "num_hidden_layers": 2, "head_dim": 12, "attention_bias": True, "mlp_bias": True,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0},
            "rope_scaling": {"rope_type": "linear", "factor": 2.0},
        },
    ),
    Case("EuroBERT, biased, wide heads, one key for all", "eurobert",
        build("Model", attention_bias=True, mlp_bias=True, head_dim=10,
              num_key_value_heads=1), run(), wrong={"head_dim": None}),
    Case("EuroBERT for masked tokens", "eurobert", build("ForMaskedLM"), run("masked")),
    Case("EuroBERT for masked tokens, biased", "eurobert",
         build("ForMaskedLM", mlp_bias=True), run("masked")),
    *(
        Case(f"EuroBERT, 3 labels, {pool}", "eurobert",
             build("ForSequenceClassification", num_labels=3, classifier_pooling=pool),
             run("classify"), wrong={"classifier_pooling": other})
        for pool, other in (("late", "mean"), ("mean", "bos"), ("bos", "late"))
    ),
    Case("EuroBERT, 5 token labels", "eurobert",
         build("ForTokenClassification", num_labels=5), run("tokens")),
]  # fmt: skip
