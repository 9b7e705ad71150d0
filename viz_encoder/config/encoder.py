"""EncoderConfig: the axes of one encoder; the defaults are BERT-base."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from viz_encoder.arguments import (
    OneOf,
    above,
    at_least,
    at_most,
    below,
    read_fields,
    read_index,
    said,
)
from viz_encoder.config.choices import (
    Activation,
    Embedding,
    Norm,
    NormPlacement,
    Positions,
)
from viz_encoder.config.head import LARGEST_COUNT, HeadConfig, SizeOrNone, read_heads
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
PARTS = ("q", "k", "v", "o", "up", "gate", "down", "norm", "patch", "project")  # may lack a bias
Size = Annotated[int, at_least(1), at_most(LARGEST_COUNT)]
Positive = Annotated[float, above(0)]
PartName = Annotated[str, OneOf(PARTS)]


@dataclass(frozen=True)
class EncoderConfig:
    """All axes of one encoder; the defaults are BERT-base (Devlin et al., 2019, arXiv:1810.04805).

    Raises:
        ConfigError: an impossible size, or sizes that do not fit together.
    """

    n_layers: Size = 12
    n_heads: Size = 12
    d_model: Size = 768
    d_ff: Size = 3072
    d_head: SizeOrNone = 0  # width of one head's queries, keys and values; 0 = d_model / n_heads
    scale: Positive | None = None  # of the scores; default 1 / √d_head
    # Input.
    embedding: Embedding = Embedding.TOKEN
    vocab_size: Size = 30522
    n_segments: SizeOrNone = 2
    d_embed: SizeOrNone = 0  # width of the tables, projected to d_model; 0 = d_model
    max_positions: Size = 512
    image_size: tuple[Size, Size] = (224, 224)  # height, width the positions were learned at
    patch_size: Size = 16
    n_channels: Size = 3
    prefix: tuple[str, ...] = ()  # learned tokens before the patches, by name
    # Positions.
    positions: Positions = Positions.LEARNED
    antialias: bool = False  # patch positions are smoothed when resized to another grid
    rotary_base: Positive | None = None  # queries and keys are turned by their position
    rotary_base_local: Positive | None = None  # in layers with a window, where it differs
    rotary_stretch: Positive = 1.0  # positions are divided by it first, for texts that much longer
    rotary_grid: bool = False  # turned by row and column of the patch
    relative_buckets: SizeOrNone = 0  # a learned number by distance is added to the scores
    relative_distance: Size = 128  # from which on all distances are one
    # The blocks.
    norm: Norm = Norm.LAYER
    norm_placement: NormPlacement = NormPlacement.POST
    norm_eps: Annotated[float, above(0), below(1)] = 1e-12
    embed_norm: bool = True
    first_attn_norm: bool = True  # False: layer 0 has no norm before its attention (ModernBERT)
    final_norm: bool = False
    activation: Activation = Activation.GELU
    gated: bool = False  # the feed-forward network multiplies two branches
    bias: bool = True
    unbiased: tuple[PartName, ...] = ()  # parts without a bias, where the others have one
    dropout: Annotated[float, at_least(0), below(1)] = 0.1
    # Attention pattern.
    causal: bool = False
    window: Size | None = None  # each token sees this many neighbors on either side
    global_layers: tuple[int, ...] = ()  # layers in which the window does not count
    # Prediction heads.
    prediction_heads: tuple[HeadConfig, ...] = ()

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
    def grid(self) -> tuple[int, int]:
        """Patch rows and columns at the size the model was trained on."""
        return self.image_size[0] // self.patch_size, self.image_size[1] // self.patch_size

    @property
    def n_parameters(self) -> int:
        """Number of weights, counted from the axes alone; a tied decoder counts as its own."""
        return sum(part.count for part in weight_parts(self))

    def has_bias(self, part: str) -> bool:
        """Whether a part (q, k, v, o, up, gate, down, norm, patch, project) has a bias."""
        return self.bias and part not in self.unbiased

    def is_local(self, layer: int) -> bool:
        """Whether the window counts in this layer."""
        return self.window is not None and layer not in self.global_layers

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
