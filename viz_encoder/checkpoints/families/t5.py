"""The encoders of T5 (Raffel et al., 2019, arXiv:1910.10683) and mT5: order by distance alone."""

from collections.abc import Mapping
from dataclasses import replace
from reprlib import repr as shown
from typing import Any

from torch import Tensor, nn

from viz_encoder.checkpoints.family import Family, Json, activation, last_states
from viz_encoder.checkpoints.tables import TOKEN_LABELS
from viz_encoder.config import EncoderConfig, Norm, NormPlacement, Positions
from viz_encoder.errors import CheckpointError


def _config(file: Json) -> EncoderConfig:
    return EncoderConfig(
        n_layers=file["num_layers"],
        n_heads=file["num_heads"],
        d_model=file["d_model"],
        d_ff=file["d_ff"],
        d_head=file["d_kv"],
        scale=1.0,  # 1 / √d is in the trained weights
        vocab_size=file["vocab_size"],
        n_segments=0,
        max_positions=file["n_positions"],
        positions=Positions.NONE,
        relative_buckets=file["relative_attention_num_buckets"],
        relative_distance=file["relative_attention_max_distance"],
        norm=Norm.RMS,
        norm_placement=NormPlacement.PRE,
        norm_eps=file["layer_norm_epsilon"],
        embed_norm=False,
        final_norm=True,
        bias=False,
        dropout=file["dropout_rate"],
        **_feed_forward(file["feed_forward_proj"]),
    )


def _feed_forward(name: Any) -> dict[str, Any]:
    """ "relu" or, since version 1.1, "gated-gelu", by which the tanh approximation is meant."""
    kind, _, function = name.rpartition("-")
    if kind not in ("", "gated"):
        raise CheckpointError(
            f"feed_forward_proj is {shown(name)}; it must be a function such as 'relu', or "
            "'gated-' before one."
        )
    if name == "gated-gelu":
        function = "gelu_new"
    return {"gated": kind == "gated", "activation": activation(function)}


def _run(model: nn.Module, inputs: Mapping[str, Tensor]) -> Tensor:
    return last_states(model.get_encoder(), inputs)  # type: ignore[operator]


T5 = Family(
    model_types=("t5",),
    defaults={
        "vocab_size": 32128,
        "d_model": 512,
        "d_kv": 64,
        "d_ff": 2048,
        "num_layers": 6,
        "num_heads": 8,
        "n_positions": 512,
        "relative_attention_num_buckets": 32,
        "relative_attention_max_distance": 128,
        "dropout_rate": 0.1,
        "layer_norm_epsilon": 1e-6,
        "feed_forward_proj": "relu",
        "pad_token_id": 0,
    },
    config=_config,
    optional_prefixes=("transformer.",),
    tensors="""
        shared.weight                                            embed.tokens.word.weight
        encoder.embed_tokens.weight                              embed.tokens.word.weight
        encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight    relative
        encoder.block.#.layer.0.SelfAttention.q.weight           layers.#.attn.q.weight
        encoder.block.#.layer.0.SelfAttention.k.weight           layers.#.attn.k.weight
        encoder.block.#.layer.0.SelfAttention.v.weight           layers.#.attn.v.weight
        encoder.block.#.layer.0.SelfAttention.o.weight           layers.#.attn.o.weight
        encoder.block.#.layer.0.layer_norm.weight                layers.#.attn_norm.weight
        encoder.block.#.layer.1.DenseReluDense.wi.weight         layers.#.ff.up.weight
        encoder.block.#.layer.1.DenseReluDense.wi_0.weight       layers.#.ff.gate.weight
        encoder.block.#.layer.1.DenseReluDense.wi_1.weight       layers.#.ff.up.weight
        encoder.block.#.layer.1.DenseReluDense.wo.weight         layers.#.ff.down.weight
        encoder.block.#.layer.1.layer_norm.weight                layers.#.ff_norm.weight
        encoder.final_layer_norm.weight                          final_norm.weight
        decoder.*                                                -  decoder
        lm_head.*                                                -  language-modeling head
        classification_head.*                                    -  classification head
        qa_outputs.*                                             -  question-answering head
        classifier.*                                             -  classification head
    """,
    heads=(TOKEN_LABELS,),
    run=_run,
)
MT5 = replace(
    T5,
    model_types=("mt5",),
    defaults={
        **T5.defaults,
        "vocab_size": 250112,
        "d_ff": 1024,
        "num_layers": 8,
        "num_heads": 6,
        "feed_forward_proj": "gated-gelu",
    },
)
FAMILIES = (T5, MT5)
