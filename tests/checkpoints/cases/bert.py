"""BERT, with each of its heads."""

from functools import partial

from tests.checkpoints.parity import Case, builder, run_text

run = partial(run_text, segments=True)
build = builder("Bert")


CASES = [
    Case("BERT", "bert", build(), run("pool"),
        wrong={
            "layer_norm_eps": 1e-3, "hidden_act": "gelu_new", "num_attention_heads": 6,
            "is_decoder": True, "num_hidden_layers": 2, "type_vocab_size": 1,
        },
    ),
    Case("BERT, gelu_new", "bert", build("Model", hidden_act="gelu_new"), run("pool"),
         wrong={"hidden_act": "gelu"}),
    Case("BERT for masked tokens", "bert", build("ForMaskedLM"), run("masked")),
    Case("BERT, 3 labels", "bert", build("ForSequenceClassification", num_labels=3),
         run("classify")),
    Case("BERT, 5 token labels", "bert", build("ForTokenClassification", num_labels=5),
         run("tokens")),
]  # fmt: skip
