"""Trained folder: what training scripts share to write a model's folder and to read it again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from viz_encoder.config import EncoderConfig, HeadConfig
from viz_encoder.model import Encoder

Stepper = tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]


def small_bert(n_words: int, *heads: HeadConfig, n_layers: int) -> EncoderConfig:
    """Of a pre-norm BERT that fills one of so many words, and has these further heads."""
    filled = HeadConfig("masked", d_dense=64, activation="gelu", norm=True, n_out=n_words)
    return EncoderConfig(
        n_layers=n_layers,
        n_heads=4,
        d_model=64,
        d_ff=256,
        vocab_size=n_words,
        n_segments=0,
        max_positions=24,
        norm_placement="pre",
        norm_eps=1e-6,
        embed_norm=False,
        final_norm=True,
        dropout=0.0,
        prediction_heads=(filled, *heads),
    )


def word_tokenizer(ids: Mapping[str, int], special: Sequence[str]) -> Tokenizer:
    """One token a word, [CLS] before a text and [SEP] after it; signs may touch their neighbors."""
    tokenizer = Tokenizer(WordLevel(dict(ids), unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), BertPreTokenizer()
    tokenizer.add_special_tokens(list(special))
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(name, ids[name]) for name in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def muon_and_adam(
    matrices: Sequence[torch.nn.Parameter],
    others: Sequence[torch.nn.Parameter],
    rates: tuple[float, float],
    weight_decay: float,
    n_steps: int,
) -> list[Stepper]:
    """Muon (Jordan et al., 2024) for the blocks' matrices, AdamW for all else, both one-cycle."""
    muon = torch.optim.Muon(matrices, lr=rates[0], weight_decay=weight_decay)
    adam = torch.optim.AdamW(others, lr=rates[1], weight_decay=weight_decay)
    cycle = torch.optim.lr_scheduler.OneCycleLR
    options: dict[str, Any] = {"total_steps": n_steps, "pct_start": 0.1, "cycle_momentum": False}
    return [(muon, cycle(muon, rates[0], **options)), (adam, cycle(adam, rates[1], **options))]


def matrices_and_others(
    encoder: Encoder,
) -> tuple[list[torch.nn.Parameter], list[torch.nn.Parameter]]:
    """The matrices of the blocks, and every other parameter."""
    matrices = [p for p in encoder.layers.parameters() if p.ndim == 2]
    inside = set(map(id, matrices))
    return matrices, [p for p in encoder.parameters() if id(p) not in inside]


def write(
    folder: Path,
    encoder: Encoder,
    about: Mapping[str, Any],
    measured: Mapping[str, Any],
    tokenizer: Tokenizer | None = None,
) -> None:
    """The weights in half precision, which loses nothing that the numbers show, and config.json.

    Args:
        folder: made if it is not there.
        encoder: what was trained.
        about: what config.json says before the encoder's axes.
        measured: and after them.
        tokenizer: of a model of texts.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: each.half().contiguous() for name, each in encoder.state_dict().items()}
    save_file(tensors, folder / "model.safetensors")
    (folder / "model.safetensors").chmod(0o644)  # the library writes it for its owner only
    if tokenizer is not None:
        tokenizer.save(str(folder / "tokenizer.json"))
    config = encoder.config
    axes = [f.name for f in fields(config) if getattr(config, f.name) != f.default]
    axes_of = {name: value for name, value in asdict(config).items() if name in axes}
    content = {"model_type": "viz_encoder", **about, "encoder": axes_of, **measured}
    (folder / "config.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def read(folder: Path, config: EncoderConfig) -> Encoder:
    """The encoder that is shipped."""
    encoder = Encoder(config)
    tensors = load_file(folder / "model.safetensors")
    encoder.load_state_dict({name: each.float() for name, each in tensors.items()}, strict=True)
    return encoder.eval()
