"""Inputs: what goes into an encoder, and Sample: how a person reads one sequence of it."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Int, UInt8
from torch import Tensor

from viz_encoder.shown import OneLine


@dataclass(frozen=True)
class Grid:
    """Patches of a picture: n_rows × n_cols, after n_prefix tokens that are no patches."""

    n_rows: int
    n_cols: int
    n_prefix: int

    @property
    def patches(self) -> tuple[str, ...]:
        """The names of the patches, row by row: r0c0, r0c1, …"""
        return tuple(f"r{row}c{col}" for row in range(self.n_rows) for col in range(self.n_cols))


@dataclass(frozen=True, eq=False, repr=False)
class Sample(OneLine):
    """One sequence in human-readable form; tuples have one entry per token."""

    tokens: tuple[str, ...]  # the model's own names, sub-word marks included
    special: tuple[bool, ...]  # [CLS], [SEP], padding …: put there by the model, not by the person
    words: tuple[int | None, ...] = ()  # which word a sub-word belongs to; None for special tokens
    spans: tuple[tuple[int, int], ...] = ()  # characters of its text, (0, 0) for special tokens
    segments: tuple[int, ...] = ()  # 0 = text A, 1 = text B
    texts: tuple[str, ...] = ()  # the texts read, after any truncation
    grid: Grid | None = None
    picture: UInt8[np.ndarray, "height width 3"] | None = None  # the picture as it was cut up
    notes: tuple[str, ...] = ()  # what was cut, replaced or resized, one sentence each
    n_prompt: int = 0  # tokens at the front that are of a model's own prompt, [CLS] counted

    def segment_of(self, token: int) -> int:
        """Which text a token belongs to: 0 = text A, 1 = text B."""
        return self.segments[token] if self.segments else 0

    @property
    def second_text(self) -> int | None:
        """Index of the first token of text B in a pair; None for a single text."""
        return (self.segments.index(1) if 1 in self.segments else 0) or None


@dataclass(frozen=True, eq=False, repr=False)
class Inputs(OneLine):
    """A batch ready for the encoder, with one Sample for each of its rows."""

    values: Tensor  # ids "batch token", pixels "batch channel height width" or vectors
    valid: Bool[Tensor, "batch token"]  # True = a real token, False = padding
    samples: tuple[Sample, ...]
    segments: Int[Tensor, "batch token"] | None = None
    padded: bool = field(default=False)  # whether any token is padding, known without a GPU sync

    @property
    def nbytes(self) -> int:
        """Bytes of the tensors and of the preprocessed pictures."""
        tensors = self.values.nbytes + self.valid.nbytes
        tensors += 0 if self.segments is None else self.segments.nbytes
        pictures = (sample.picture for sample in self.samples)
        return tensors + sum(pixels.nbytes for pixels in pictures if pixels is not None)
