"""Built: an encoder that a person put together from its axes, untrained, and its tokenizer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import Any
from urllib.parse import parse_qsl, urlencode

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from viz_encoder.checkpoints import LoadedEncoder, ModelCard, load
from viz_encoder.config import Embedding, EncoderConfig, Positions
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
# Axes that an EncoderConfig has too, by its own names.
AXES = {name: name for name in ("d_model", "n_layers", "n_heads", "d_ff", "activation")}
AXES |= {"V": "vocab_size", "T": "max_positions", "norm": "norm_placement"}
MOST = 10**7  # upper limit of any size
MOST_REGISTERS = 16
LEAST = {"seed": 0, "registers": 0, "V": len(SPECIAL) + 1}  # 1 of every other
READS = {"text": Embedding.TOKEN, "image": Embedding.PATCH}
LISTED = "untrained?"  # before its code, in a list of models
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
    reads: str = "text"
    image: int = 40  # both sides of a picture, in pixels
    patch: int = 4
    registers: int = 0

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
                least = LEAST.get(axis.name, 1)
                most = MOST_REGISTERS if axis.name == "registers" else MOST
                found[axis.name] = _whole(axis.name, value, least, most)
            else:
                found[axis.name] = str(value)[:40]
        return cls(**found)

    @property
    def config(self) -> EncoderConfig:
        """As an EncoderConfig; pre-norm adds a final norm."""
        for name, choices in (("positions", POSITIONS), ("reads", READS)):
            if getattr(self, name) not in choices:
                raise ConfigError(
                    f"{name} is {shown(getattr(self, name))}; it must be one of "
                    f"{', '.join(choices)}."
                )
        return EncoderConfig.named(
            "original",
            **{name: getattr(self, axis) for axis, name in AXES.items()},
            final_norm=self.norm == "pre",
            gated=self.gated,
            **POSITIONS[self.positions],
            **self._pictures,
        )

    @property
    def _pictures(self) -> dict[str, Any]:
        """The axes of an encoder of pictures: its patches come after [CLS] and the registers."""
        if self.reads != "image":
            return {}
        registers = (f"[REG {number}]" for number in range(self.registers))
        return {
            "embedding": Embedding.PATCH,
            "image_size": (self.image, self.image),
            "patch_size": self.patch,
            "prefix": ("[CLS]", *registers),
            "rotary_grid": self.positions == "rotary",
        }

    @property
    def n_tokens(self) -> int:
        """The tokens whose cost is told: T of a text, and all of a picture."""
        config = self.config
        if config.embedding is Embedding.TOKEN:
            return self.T
        return config.grid[0] * config.grid[1] + len(config.prefix)

    @property
    def card(self) -> ModelCard:
        """What is known of it before it is built."""
        source = f"random weights, seed {self.seed}"
        count = self.config.n_parameters
        return ModelCard(self.name, source, "", n_parameters=count, untrained=True)

    @property
    def listed(self) -> str:
        """What stands for it in a list of models."""
        return LISTED + self.code

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
        of_pictures = " (pictures)" if self.reads == "image" else ""
        return f"untrained {self.n_layers} × {self.n_heads}, d_model {self.d_model}{of_pictures}"


def as_listed(model: str) -> str | Built:
    """The encoder that a name in a list of models stands for; a model's own name as it is.

    Raises:
        ConfigError: axes that cannot be.
    """
    if not isinstance(model, str) or not model.startswith(LISTED):
        return model
    return Built.of(dict(parse_qsl(model.removeprefix(LISTED))))


def _preset(size: str) -> Built:
    """A named size of EncoderConfig; the original's positions are no table, and may be few."""
    config = EncoderConfig.named(size)
    own = {axis: getattr(config, name) for axis, name in AXES.items()}
    own |= {axis: str(own[axis]) for axis in ("norm", "activation")}
    length = own["T"] if config.positions is Positions.LEARNED else Built.T
    return Built(**own | {"positions": str(config.positions), "T": length})


PRESETS = {size: _preset(size) for size in SIZES}


def built_encoder(built: Built, text: str, most: int, device: str = "cpu") -> LoadedEncoder:
    """The encoder with seeded random weights, and a reader: of pictures, or this text's words."""
    config = built.config
    if config.n_parameters > most:
        raise ConfigError(
            f"This encoder has {config.n_parameters:,} weights; at most {most:,} are built here. "
            "Use fewer layers, a smaller d_model or a smaller V."
        )
    encoder = load(config, device=device, seed=built.seed)
    if built.reads == "image":
        return replace(encoder, card=replace(encoder.card, name=built.name))
    reader = TextReader(_tokenizer(text, built.V), built.T)
    return replace(encoder, reader=reader, card=replace(encoder.card, name=built.name))


def _whole(name: str, value: object, least: int, most: int) -> int:
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
        raise ConfigError(f"{name} is {shown(value)}; it must be {least:,} to {most:,}.")
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
