"""Built: an encoder that a person put together from its axes, untrained, and its tokenizer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import Any
from urllib.parse import urlencode

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from viz_encoder.checkpoints import LoadedEncoder, load
from viz_encoder.config import EncoderConfig, Positions
from viz_encoder.config.encoder import SIZES
from viz_encoder.errors import ConfigError
from viz_encoder.inputs import TextReader

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
POSITIONS: dict[str, dict[str, Any]] = {
    "learned": {"positions": "learned"},
    "sinusoidal": {"positions": "sinusoidal"},
    "rotary": {"positions": "none", "rotary_base": 10_000.0},
    "relative": {"positions": "none", "relative_buckets": 32},
    "none": {"positions": "none"},
}
MOST = 10**7  # upper limit of any size
WORDS = "The vocabulary is the words of the text, numbered as they come; the table is untrained."


@dataclass(frozen=True)
class Built:
    """The axes that can be chosen; the usual ones are the original encoder's (arXiv:1706.03762)."""

    V: int = 10_000
    d_model: int = 512
    n_layers: int = 6
    n_heads: int = 8
    d_ff: int = 2048
    T: int = 128
    positions: str = "sinusoidal"
    norm: str = "post"
    activation: str = "relu"
    gated: bool = False
    seed: int = 0

    @classmethod
    def of(cls, asked: Mapping[str, object]) -> "Built":
        """The axes of an address or a JSON object; those that are not named are the usual ones.

        Raises:
            ConfigError: an axis has an invalid value.
        """
        usual = cls()
        found: dict[str, Any] = {}
        for axis in fields(cls):
            value = asked.get(axis.name, getattr(usual, axis.name))
            if axis.type is bool:
                found[axis.name] = value in (True, "true", "1")
            elif axis.type is int:
                least = 0 if axis.name == "seed" else len(SPECIAL) + 1 if axis.name == "V" else 1
                found[axis.name] = _whole(axis.name, value, least)
            else:
                found[axis.name] = str(value)[:40]
        return cls(**found)

    @property
    def config(self) -> EncoderConfig:
        """As an EncoderConfig; pre-norm adds a final norm.

        Raises:
            ConfigError: axes that cannot be combined.
        """
        if self.positions not in POSITIONS:
            raise ConfigError(
                f"positions is {shown(self.positions)}; it must be one of {', '.join(POSITIONS)}."
            )
        return EncoderConfig.named(
            "original",
            n_layers=self.n_layers,
            n_heads=self.n_heads,
            d_model=self.d_model,
            d_ff=self.d_ff,
            vocab_size=self.V,
            max_positions=self.T,
            norm_placement=self.norm,
            final_norm=self.norm == "pre",
            activation=self.activation,
            gated=self.gated,
            **POSITIONS[self.positions],
        )

    @property
    def code(self) -> str:
        """Code used in links."""
        usual = Built()
        chosen = {axis.name: getattr(self, axis.name) for axis in fields(self)}
        named = {name: value for name, value in chosen.items() if value != getattr(usual, name)}
        return urlencode(
            {name: str(value).lower() for name, value in named.items()} or {"V": self.V}
        )

    @property
    def name(self) -> str:
        """Name shown in place of a model's."""
        return f"untrained {self.n_layers} × {self.n_heads}, d_model {self.d_model}"


def _preset(size: str) -> Built:
    """A named size of EncoderConfig; the original's positions are no table, and may be few."""
    config, usual = EncoderConfig.named(size), Built()
    return Built(
        V=config.vocab_size,
        d_model=config.d_model,
        n_layers=config.n_layers,
        n_heads=config.n_heads,
        d_ff=config.d_ff,
        T=config.max_positions if config.positions is Positions.LEARNED else usual.T,
        positions=str(config.positions),
        norm=str(config.norm_placement),
        activation=str(config.activation),
    )


PRESETS = {size: _preset(size) for size in SIZES}


def built_encoder(built: Built, text: str, most: int, device: str = "cpu") -> LoadedEncoder:
    """The encoder with seeded random weights, and a reader of this text's words.

    Raises:
        ConfigError: axes that cannot be combined, or more weights than are allowed.
    """
    config = built.config
    if config.n_parameters > most:
        raise ConfigError(
            f"This encoder has {config.n_parameters:,} weights; at most {most:,} are built here. "
            "Use fewer layers, a smaller d_model or a smaller V."
        )
    encoder = load(config, device=device, seed=built.seed)
    reader = TextReader(_tokenizer(text, built.V), built.T)
    return replace(encoder, reader=reader, card=replace(encoder.card, name=built.name))


def _whole(name: str, value: object, least: int) -> int:
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= MOST:
        raise ConfigError(f"{name} is {shown(value)}; it must be {least:,} to {MOST:,}.")
    return int(text)


def _tokenizer(text: str, size: int) -> Tokenizer:
    """The text's own words, in lower case, after the special tokens; the rest are [UNK]."""
    lower, words = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
    found = (word for word, _ in words.pre_tokenize_str(lower.normalize_str(text)))
    names = dict.fromkeys([*SPECIAL, *found])
    vocabulary = {name: number for number, name in enumerate(names)}
    kept = {name: number for name, number in vocabulary.items() if number < size}
    tokenizer = Tokenizer(models.WordLevel(kept, "[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = lower, words
    tokenizer.add_special_tokens(list(SPECIAL))
    ends = [(name, SPECIAL.index(name)) for name in ("[CLS]", "[SEP]")]
    template = "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"
    tokenizer.post_processor = processors.TemplateProcessing(*template, ends)
    return tokenizer
