"""The axes along which encoders differ."""

from dataclasses import dataclass
from typing import Annotated

from viz_encoder.arguments import OneOf, above, at_least, at_most, below
from viz_encoder.config.choices import (
    Activation,
    Embedding,
    Norm,
    NormPlacement,
    Positions,
)
from viz_encoder.config.head import LARGEST_COUNT, HeadConfig, SizeOrNone

PARTS = ("q", "k", "v", "o", "up", "gate", "down", "norm", "patch", "project")  # may lack a bias
Size = Annotated[int, at_least(1), at_most(LARGEST_COUNT)]
Positive = Annotated[float, above(0)]
PartName = Annotated[str, OneOf(PARTS)]


@dataclass(frozen=True)
class Axes:
    """Every axis with the value that BERT-base has; EncoderConfig checks that they fit."""

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

    @property
    def grid(self) -> tuple[int, int]:
        """Patch rows and columns at the size the model was trained on."""
        return self.image_size[0] // self.patch_size, self.image_size[1] // self.patch_size

    def has_bias(self, part: str) -> bool:
        """Whether a part (q, k, v, o, up, gate, down, norm, patch, project) has a bias."""
        return self.bias and part not in self.unbiased

    def is_local(self, layer: int) -> bool:
        """Whether the window counts in this layer."""
        return self.window is not None and layer not in self.global_layers
