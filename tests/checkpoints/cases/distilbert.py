"""DistilBERT, with each of its heads."""

from tests.checkpoints.parity import N_WORDS, Case, builder, run_text

SIZES = {
    "vocab_size": N_WORDS, "dim": 24, "n_layers": 3, "n_heads": 4, "hidden_dim": 40,
    "max_position_embeddings": 19,
}  # fmt: skip
run = run_text
build = builder("DistilBert", SIZES)


CASES = [
    Case("DistilBERT", "distilbert", build(), run(),
        wrong={
            "activation": "gelu_new", "n_heads": 6, "n_layers": 2, "max_position_embeddings": 18,
            "hidden_dim": 41,
        },
    ),
    Case("DistilBERT, sines", "distilbert", build("Model", sinusoidal_pos_embds=True), run()),
    Case("DistilBERT for masked tokens", "distilbert", build("ForMaskedLM"), run("masked")),
    Case("DistilBERT, relu, for masked tokens", "distilbert",
         build("ForMaskedLM", activation="relu"), run("masked")),
    Case("DistilBERT, 3 labels", "distilbert",
         build("ForSequenceClassification", num_labels=3), run("classify")),
    Case("DistilBERT, 5 token labels", "distilbert",
         build("ForTokenClassification", num_labels=5), run("tokens")),
    Case("DistilBERT for answers", "distilbert", build("ForQuestionAnswering"), run()),
]  # fmt: skip
