"""EncoderConfig: every axis of the encoder as one frozen value that refuses nonsense."""

import math
from dataclasses import dataclass
from enum import StrEnum
from reprlib import repr as shown  # cut short: the value may be a stranger's, of any length
from typing import Any, NoReturn

import psutil

from viz_encoder.errors import ConfigError


class Choice(StrEnum):
    """An axis with named values; a wrong name is answered with the right ones."""

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        allowed = ", ".join(repr(member.value) for member in cls)
        raise ConfigError(f"{cls.__name__} is {shown(value)}; it must be one of {allowed}.")


class Embedding(Choice):
    """What comes in: token ids, pixels cut into patches, or vectors as they are."""

    TOKEN = "token"
    PATCH = "patch"
    VECTOR = "vector"


class Positions(Choice):
    """How the encoder knows order."""

    LEARNED = "learned"
    SINUSOIDAL = "sinusoidal"
    NONE = "none"


class NormPlacement(Choice):
    """Normalization before each sub-layer (pre) or after its residual sum (post)."""

    PRE = "pre"
    POST = "post"


class Activation(Choice):
    """The nonlinearity of the feed-forward network."""

    RELU = "relu"
    GELU = "gelu"
    SILU = "silu"


SIZES: dict[str, dict[str, int]] = {
    "small": {"d_model": 256, "n_layers": 6, "n_heads": 8, "d_ff": 1024},
    "base": {"d_model": 768, "n_layers": 12, "n_heads": 12, "d_ff": 3072},
}
BYTES_PER_WEIGHT = 4  # float32, the widest type we load weights in
LARGEST_COUNT = 10**12  # no axis of any model comes near; larger numbers overflow


@dataclass(frozen=True)
class EncoderConfig:
    """All axes of one encoder; the defaults are BERT-base (Devlin et al., 2019, arXiv:1810.04805).

    Raises:
        ConfigError: a size that cannot be, or weights that would not fit into this machine.
    """

    n_layers: int = 12
    n_heads: int = 12
    d_model: int = 768
    d_ff: int = 3072
    embedding: Embedding = Embedding.TOKEN
    vocab_size: int = 30522
    n_segments: int = 2
    max_positions: int = 512
    image_size: tuple[int, int] = (224, 224)  # height, width the positions were learned at
    patch_size: int = 16
    n_channels: int = 3
    prefix: tuple[str, ...] = ()  # learned tokens before the patches, by name
    positions: Positions = Positions.LEARNED
    norm_placement: NormPlacement = NormPlacement.POST
    norm_eps: float = 1e-12
    embed_norm: bool = True
    final_norm: bool = False
    activation: Activation = Activation.GELU
    bias: bool = True
    dropout: float = 0.1
    causal: bool = False
    window: int | None = None  # each token sees this many neighbours on either side
    labels: tuple[str, ...] = ()  # names of the classes, where there is a classifier

    def __post_init__(self) -> None:
        """Coerce names to enums, then check every axis."""
        for name, kind in _ENUMS.items():
            object.__setattr__(self, name, kind(getattr(self, name)))
        for name in ("image_size", "prefix", "labels"):
            object.__setattr__(self, name, _list(name, getattr(self, name)))
        for name in _SWITCHES:
            _require_switch(name, getattr(self, name))
        for name in _COUNTS:
            _require_count(name, getattr(self, name))
        if self.window is not None:
            _require_count("window", self.window)
        self._check_heads()
        self._check_numbers()
        self._check_patches()
        self._check_memory()

    @classmethod
    def named(cls, size: str, **axes: Any) -> "EncoderConfig":
        """The config of a named size ("small" or "base"), with any axis changed."""
        if size not in tuple(SIZES):
            raise ConfigError(f"There is no size {shown(size)}; choose one of {', '.join(SIZES)}.")
        return cls(**{**SIZES[size], **axes})

    @property
    def d_head(self) -> int:
        """Width of one head's queries, keys and values."""
        return self.d_model // self.n_heads

    @property
    def grid(self) -> tuple[int, int]:
        """Patch rows and columns at the size the model was trained on."""
        return self.image_size[0] // self.patch_size, self.image_size[1] // self.patch_size

    @property
    def n_parameters(self) -> int:
        """Number of weights, counted from the axes alone."""
        d, bias, norm = self.d_model, int(self.bias), self.d_model * (1 + int(self.bias))
        attention = 4 * (d * d + bias * d)
        feed_forward = 2 * d * self.d_ff + bias * (d + self.d_ff)
        layers = self.n_layers * (attention + feed_forward + 2 * norm)
        extra_norms = (int(self.embed_norm) + int(self.final_norm)) * norm
        labels = len(self.labels) * (d + 1)
        return self._n_embedding_parameters + layers + extra_norms + labels

    @property
    def _n_embedding_parameters(self) -> int:
        learned = self.positions is Positions.LEARNED
        if self.embedding is Embedding.TOKEN:
            rows = self.vocab_size + self.n_segments + learned * self.max_positions
            return rows * self.d_model
        if self.embedding is Embedding.PATCH:
            pixels = self.n_channels * self.patch_size**2
            positions = learned * (len(self.prefix) + self.grid[0] * self.grid[1])
            return (pixels + 1 + len(self.prefix) + positions) * self.d_model
        return learned * self.max_positions * self.d_model

    def trace_bytes(self, n_tokens: int) -> int:
        """Bytes a captured run of n_tokens holds: q, k, v of each layer and the hidden states."""
        return (4 * self.n_layers + 2) * n_tokens * self.d_model * BYTES_PER_WEIGHT

    def _check_heads(self) -> None:
        if self.d_model % self.n_heads:
            raise ConfigError(
                f"d_model = {self.d_model} cannot be shared out among n_heads = {self.n_heads}; "
                f"choose a d_model that is a multiple of {self.n_heads}."
            )

    def _check_numbers(self) -> None:
        if not 0 <= _number(self.dropout) < 1:
            raise ConfigError(
                f"dropout is {shown(self.dropout)}; it must be a number of at least 0 and below 1."
            )
        if not 0 < _number(self.norm_eps) < 1:
            raise ConfigError(
                f"norm_eps is {shown(self.norm_eps)}; it must be a number above 0 and below 1."
            )
        _require_count("n_segments", self.n_segments, least=0)

    def _check_patches(self) -> None:
        if self.embedding is not Embedding.PATCH:
            return
        if len(self.image_size) != 2:
            raise ConfigError(f"image_size is {shown(self.image_size)}; give (height, width).")
        for side in self.image_size:
            _require_count("image_size", side)
            if side % self.patch_size:
                raise ConfigError(
                    f"image_size {self.image_size} cannot be cut into patches of "
                    f"{self.patch_size}; choose multiples of {self.patch_size}."
                )

    def _check_memory(self) -> None:
        needed = self.n_parameters * BYTES_PER_WEIGHT
        present = psutil.virtual_memory().total
        if needed > present:
            raise ConfigError(
                f"This encoder's weights alone need {_gigabytes(needed)}; this machine "
                f"has {_gigabytes(present)}. Use fewer layers or a smaller d_model."
            )


_ENUMS: dict[str, type[Choice]] = {
    "embedding": Embedding,
    "positions": Positions,
    "norm_placement": NormPlacement,
    "activation": Activation,
}
_COUNTS = (
    *("n_layers", "n_heads", "d_model", "d_ff", "vocab_size"),
    *("max_positions", "patch_size", "n_channels"),
)


_SWITCHES = ("bias", "embed_norm", "final_norm", "causal")


def _require_count(name: str, value: object, least: int = 1) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(
            f"{name} is {shown(value)}; it must be a whole number of at least {least}."
        )
    if value > LARGEST_COUNT:
        raise ConfigError(f"{name} is over {LARGEST_COUNT:,}; no machine could hold that.")


def _require_switch(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ConfigError(f"{name} is {shown(value)}; it must be True or False.")


def _number(value: object) -> float:
    """The value, or NaN, which is within no bounds, where it is no number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return math.nan


def _list(name: str, value: object) -> tuple[Any, ...]:
    kind = int if name == "image_size" else str
    if not isinstance(value, tuple | list) or not all(isinstance(entry, kind) for entry in value):
        what = "whole numbers" if kind is int else "texts"
        raise ConfigError(f"{name} is {shown(value)}; it must be a list of {what}.")
    return tuple(value)


def _gigabytes(n_bytes: int) -> str:
    return f"about {n_bytes / 1e9:,.1f} GB" if n_bytes < 1e18 else "over a billion GB"
