"""EncoderConfig: the axes of one encoder; the defaults are BERT-base."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from viz_encoder.arguments import read_fields, read_index, said
from viz_encoder.config.axes import Axes
from viz_encoder.config.choices import Activation, Embedding, Positions
from viz_encoder.config.head import read_heads
from viz_encoder.config.weight_parts import weight_parts
from viz_encoder.errors import ConfigError
from viz_encoder.shown import brief, one_line

# torch.nn.TransformerEncoder behind a word table: BERT's segments and embedding norm are off.
PLAIN: dict[str, Any] = {"n_segments": 0, "embed_norm": False, "norm_eps": 1e-5}
SIZES: dict[str, dict[str, Any]] = {
    "original": {"d_model": 512, "n_layers": 6, "n_heads": 8, "d_ff": 2048, "vocab_size": 10_000}
    | {"positions": Positions.SINUSOIDAL, "activation": Activation.RELU},
    "small": {"d_model": 256, "n_layers": 6, "n_heads": 8, "d_ff": 1024},
    "base": {"d_model": 768, "n_layers": 12, "n_heads": 12, "d_ff": 3072},
}
BYTES_PER_WEIGHT = 4  # float32


@dataclass(frozen=True)
class EncoderConfig(Axes):
    """All axes of one encoder; the defaults are BERT-base (Devlin et al., 2019, arXiv:1810.04805).

    Raises:
        ConfigError: an impossible size, or sizes that do not fit together.
    """

    def __repr__(self) -> str:
        """One line: the sizes, then every axis that differs from BERT-base."""
        sizes = "n_layers", "n_heads", "d_model"
        usual = {"d_head": self.d_model // self.n_heads, "d_embed": self.d_model}
        changed = (
            field.name
            for field in fields(self)
            if field.name not in sizes
            and getattr(self, field.name) != usual.get(field.name, field.default)
        )
        said = (f"{name}={brief(getattr(self, name))}" for name in (*sizes, *changed))
        return one_line(f"EncoderConfig({', '.join(said)})")

    def __post_init__(self) -> None:
        """Coerce names to enums, then check every axis."""
        object.__setattr__(self, "prediction_heads", read_heads(self.prediction_heads))
        read_fields(self, ConfigError)
        for layer in self.global_layers:
            read_index("global layer", layer, self.n_layers, fault=ConfigError)
        self._check_heads()
        self._check_relative()
        self._check_patches()

    @classmethod
    def named(cls, size: str, **axes: Any) -> "EncoderConfig":
        """A plain encoder of a named size, with any axis changed.

        Plain: a table of words, positions and post-norm blocks, without BERT's segments and its
        norm after the embeddings.

        Args:
            size: "original" (512 wide, 6 layers × 8 heads, d_ff 2,048, 10,000 words, sinusoidal
                positions, ReLU: the encoder of Vaswani et al., 2017, in 24,034,304 weights);
                "small" (256 wide, 6 × 8, d_ff 1,024) or "base" (768 wide, 12 × 12, d_ff 3,072),
                both with 30,522 words, learned positions and GELU.
            axes: what differs from it, such as vocab_size=30_000.

        Raises:
            ConfigError: no such size or axis, or axes that do not fit together.
        """
        if size not in tuple(SIZES):
            raise ConfigError(f"There is no size {said(size)}; choose one of {', '.join(SIZES)}.")
        return cls.from_axes({**PLAIN, **SIZES[size], **axes})

    @classmethod
    def from_axes(cls, axes: Mapping[str, Any]) -> "EncoderConfig":
        """The config with these axes; an axis that there is not is refused."""
        unknown = [name for name in axes if name not in cls.__dataclass_fields__]
        if unknown:
            raise ConfigError(
                f"EncoderConfig has no field {said(unknown[0])}; its fields are "
                f"{', '.join(cls.__dataclass_fields__)}."
            )
        return cls(**axes)

    @property
    def n_parameters(self) -> int:
        """Number of weights, counted from the axes alone; a tied decoder counts as its own."""
        return sum(part.count for part in weight_parts(self))

    def _check_heads(self) -> None:
        if not self.d_head:
            if self.d_model % self.n_heads:
                raise ConfigError(
                    f"d_model = {self.d_model} cannot be divided among n_heads = "
                    f"{self.n_heads}; choose a d_model that is a multiple of {self.n_heads}."
                )
            object.__setattr__(self, "d_head", self.d_model // self.n_heads)
        if not self.d_embed:
            object.__setattr__(self, "d_embed", self.d_model)
        turned = self.rotary_base is not None
        if turned and self.d_head % (4 if self.rotary_grid else 2):
            raise ConfigError(
                f"d_head = {self.d_head} cannot be rotated in pairs; choose a multiple of "
                f"{4 if self.rotary_grid else 2}, or rotary_base = None."
            )

    def _check_relative(self) -> None:
        if self.relative_buckets and (
            self.relative_buckets % 4 or self.relative_distance <= self.relative_buckets // 4
        ):
            raise ConfigError(
                f"relative_buckets is {self.relative_buckets} and relative_distance "
                f"{self.relative_distance}; relative_buckets must be a multiple of 4 and below "
                "4 × relative_distance."
            )

    def _check_patches(self) -> None:
        if self.embedding is not Embedding.PATCH:
            return
        for side in self.image_size:
            if side % self.patch_size:
                raise ConfigError(
                    f"image_size {self.image_size} cannot be cut into patches of "
                    f"{self.patch_size}; choose multiples of {self.patch_size}."
                )
