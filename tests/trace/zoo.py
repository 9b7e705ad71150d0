"""Tiny random models of many kinds, built the same twice: as record() sees them, and eager."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers as hf
from torch import Tensor, nn

from tests.slow import slow

WIDE = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4}
TEXT = {**WIDE, "intermediate_size": 40, "vocab_size": 50, "max_position_embeddings": 40}
IMAGE = {**WIDE, "intermediate_size": 40, "image_size": 21, "patch_size": 7}
SEQ2SEQ = {
    "vocab_size": 50,
    "d_model": 24,
    "encoder_layers": 3,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40,
}
LENGTHS = (11, 7, 9)  # odd, and padded


@dataclass(frozen=True)
class Case:
    name: str
    config: str
    model: str
    options: dict[str, Any] = field(default_factory=dict)
    inputs: str = "text"
    within: str = ""
    kind: str = "sdpa"
    maps: str = "attentions"
    padding: str = "right"

    def build(self, attn: str = "") -> nn.Module:
        config = getattr(hf, self.config)(**self.options)
        if attn and hasattr(config, "_attn_implementation"):
            config._attn_implementation = attn
        torch.manual_seed(7)
        model = getattr(hf, self.model)(config).eval()
        make_uneven(model)
        return model

    def read(self) -> tuple[dict[str, Tensor], Tensor]:
        """The model's inputs, and which tokens of them are real."""
        torch.manual_seed(8)
        return INPUTS[self.inputs](self.padding)


def make_uneven(model: nn.Module) -> None:
    """Fresh models attend almost evenly, and then any two maps look alike."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            noise = torch.randn(weight.shape, generator=generator)
            if weight.ndim >= 2:
                weight.copy_(noise * (0.3 if "embed" not in name else 1.0))
            else:
                weight.add_(noise * 0.1)


def _text(padding: str) -> tuple[dict[str, Tensor], Tensor]:
    n_tokens = max(LENGTHS)
    position = torch.arange(n_tokens)
    lengths = torch.tensor(LENGTHS)[:, None]
    valid = position < lengths if padding == "right" else position >= n_tokens - lengths
    ids = torch.where(valid, torch.randint(5, 50, valid.shape), 1)
    return {"input_ids": ids, "attention_mask": valid.long()}, valid


def _image(_: str) -> tuple[dict[str, Tensor], Tensor]:
    return {"pixel_values": torch.randn(2, 3, 21, 21)}, torch.ones(2, 1, dtype=torch.bool)


def _seq2seq(padding: str) -> tuple[dict[str, Tensor], Tensor]:
    inputs, valid = _text(padding)
    return {**inputs, "decoder_input_ids": torch.randint(5, 50, (3, 5))}, valid


def _speech(_: str) -> tuple[dict[str, Tensor], Tensor]:
    features = {"input_features": torch.randn(2, 8, 26)}
    features["decoder_input_ids"] = torch.randint(5, 50, (2, 5))
    return features, torch.ones(2, 1, dtype=torch.bool)


def _sound(_: str) -> tuple[dict[str, Tensor], Tensor]:
    return {"input_values": torch.randn(2, 700)}, torch.ones(2, 1, dtype=torch.bool)


INPUTS: dict[str, Callable[[str], tuple[dict[str, Tensor], Tensor]]] = {
    "text": _text,
    "image": _image,
    "seq2seq": _seq2seq,
    "speech": _speech,
    "sound": _sound,
}
GROUPED = {**TEXT, "num_key_value_heads": 2, "head_dim": 6, "pad_token_id": 1}
T5 = {
    "vocab_size": 50,
    "d_model": 24,
    "d_kv": 6,
    "d_ff": 40,
    "num_layers": 3,
    "num_heads": 4,
    "num_decoder_layers": 2,
}
WAVES = {
    "conv_dim": (16, 16),
    "conv_kernel": (10, 3),
    "conv_stride": (5, 2),
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "num_feat_extract_layers": 2,
}
SOUND = {**WIDE, **WAVES, "intermediate_size": 40, "mask_time_prob": 0.0}
CASES = (
    Case("BERT", "BertConfig", "BertModel", TEXT),
    Case("RoBERTa", "RobertaConfig", "RobertaModel", TEXT),
    Case("XLM-R", "XLMRobertaConfig", "XLMRobertaModel", TEXT),
    Case(
        "DistilBERT",
        "DistilBertConfig",
        "DistilBertModel",
        {"vocab_size": 50, "dim": 24, "n_layers": 3, "n_heads": 4, "hidden_dim": 40},
    ),
    Case("ELECTRA", "ElectraConfig", "ElectraModel", {**TEXT, "embedding_size": 16}),
    Case("ALBERT", "AlbertConfig", "AlbertModel", {**TEXT, "embedding_size": 16}),
    Case(
        "ModernBERT",
        "ModernBertConfig",
        "ModernBertModel",
        {**TEXT, "local_attention": 6, "global_attn_every_n_layers": 3, "pad_token_id": 1},
    ),
    Case("NomicBERT", "NomicBertConfig", "NomicBertModel", {**TEXT, "head_dim": 6}),
    Case("EuroBERT", "EuroBertConfig", "EuroBertModel", GROUPED),
    Case("ESM", "EsmConfig", "EsmModel", {**TEXT, "pad_token_id": 1, "mask_token_id": 4}),
    Case("ViT", "ViTConfig", "ViTModel", IMAGE, "image"),
    Case("DeiT", "DeiTConfig", "DeiTModel", IMAGE, "image"),
    Case("DINOv2", "Dinov2Config", "Dinov2Model", IMAGE, "image"),
    Case(
        "DINOv2 + registers",
        "Dinov2WithRegistersConfig",
        "Dinov2WithRegistersModel",
        {**IMAGE, "num_register_tokens": 3},
        "image",
    ),
    Case("DINOv3", "DINOv3ViTConfig", "DINOv3ViTModel", {**IMAGE, "hidden_size": 32}, "image"),
    Case(
        "BEiT",
        "BeitConfig",
        "BeitModel",
        {**IMAGE, "use_relative_position_bias": True, "out_indices": [1]},
        "image",
    ),
    Case("CLIP text", "CLIPTextConfig", "CLIPTextModel", {**TEXT, "eos_token_id": 2}),
    Case("CLIP vision", "CLIPVisionConfig", "CLIPVisionModel", IMAGE, "image"),
    Case("SigLIP text", "SiglipTextConfig", "SiglipTextModel", TEXT),
    Case("SigLIP vision", "SiglipVisionConfig", "SiglipVisionModel", IMAGE, "image"),
    Case("T5 encoder", "T5Config", "T5EncoderModel", T5),
    Case(
        "T5 (whole)",
        "T5Config",
        "T5Model",
        T5,
        "seq2seq",
        "encoder",
        maps="encoder_attentions",
    ),
    Case(
        "BART encoder",
        "BartConfig",
        "BartModel",
        {**SEQ2SEQ, "max_position_embeddings": 40},
        "seq2seq",
        "encoder",
        maps="encoder_attentions",
    ),
    Case(
        "Whisper encoder",
        "WhisperConfig",
        "WhisperModel",
        {**SEQ2SEQ, "num_mel_bins": 8, "max_source_positions": 13, "max_target_positions": 20}
        | {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
        | {"decoder_start_token_id": 1, "begin_suppress_tokens": [1], "suppress_tokens": []},
        "speech",
        "encoder",
        maps="encoder_attentions",
    ),
    Case("wav2vec2", "Wav2Vec2Config", "Wav2Vec2Model", SOUND, "sound"),
    Case(
        "GPT-2",
        "GPT2Config",
        "GPT2Model",
        {"vocab_size": 50, "n_embd": 24, "n_layer": 3, "n_head": 4, "n_positions": 40},
        padding="left",
    ),
    Case("Llama", "LlamaConfig", "LlamaModel", GROUPED, padding="left"),
    Case("Qwen3", "Qwen3Config", "Qwen3Model", GROUPED, padding="left"),
    Case("MPNet", "MPNetConfig", "MPNetModel", TEXT, kind="softmax"),
    Case(
        "DeBERTa-v2",
        "DebertaV2Config",
        "DebertaV2Model",
        {**TEXT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
        | {"position_buckets": 8, "max_relative_positions": 16},
        kind="softmax",
    ),
    Case("RoFormer", "RoFormerConfig", "RoFormerModel", TEXT, kind="softmax"),
)

# One of each kind: of all of them, `make test` tries these.
KINDS = {"BERT", "T5 encoder", "EuroBERT", "DINOv3", "Whisper encoder", "GPT-2", "DeBERTa-v2"}
SOME = [one if one.name in KINDS else slow(one) for one in CASES]
