"""The encoders of T5, T5 1.1 and mT5, alone and as half of a whole model."""

from typing import Any

from tests.checkpoints.parity import N_WORDS, Case, Expected, before, builder
from viz_encoder.inputs import Inputs

SIZES = {
    "vocab_size": N_WORDS, "d_model": 24, "num_layers": 3, "num_heads": 4, "d_kv": 10,
    "d_ff": 40, "num_decoder_layers": 2,
}  # fmt: skip


def run(task: str = ""):
    """The reference's hidden states, the last one also before the norm, and one head's logits."""

    def expected(reference: Any, inputs: Inputs) -> Expected:
        encoder = reference.get_encoder()
        last = before(encoder.final_layer_norm)
        out = (reference if task else encoder)(
            inputs.values, attention_mask=inputs.valid.long(),
            output_hidden_states=True, output_attentions=True,
        )  # fmt: skip
        hidden = (*out.hidden_states[:-1], last[0])
        heads = {task: out.logits} if task else {}
        return Expected(hidden, out.attentions, out.hidden_states[-1], heads)

    return expected


build, mt5 = builder("T5", SIZES), builder("MT5", SIZES)


CASES = [
    Case("T5", "t5", build("EncoderModel"), run(),
        wrong={
            "layer_norm_epsilon": 1e-3, "feed_forward_proj": "gelu", "num_heads": 5,
            "num_layers": 2, "d_kv": 8, "relative_attention_max_distance": 64,
            "relative_attention_num_buckets": 16,
        },
    ),
    Case("T5, few buckets", "t5",
        build("EncoderModel", relative_attention_num_buckets=8, relative_attention_max_distance=12),
        run(), wrong={"relative_attention_max_distance": 13}),
    Case("T5 1.1", "t5", build("EncoderModel", feed_forward_proj="gated-gelu"), run(),
        wrong={"feed_forward_proj": "gated-gelu_python"}),
    Case("T5, gated by SiLU", "t5", build("EncoderModel", feed_forward_proj="gated-silu"), run(),
        wrong={"feed_forward_proj": "silu"}),
    Case("T5, whole", "t5", build("ForConditionalGeneration"), run()),
    Case("T5, 5 token labels", "t5", build("ForTokenClassification", num_labels=5), run("tokens")),
    Case("mT5", "mt5", mt5("EncoderModel"), run(),
        wrong={"feed_forward_proj": "relu", "layer_norm_epsilon": 1e-3}),
]  # fmt: skip
