"""Padding: real [PAD] tokens beside a text, as a row of a batch with a longer text has them."""

import re
from dataclasses import dataclass, replace
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import SelectionError, TooLong
from viz_encoder.inputs import Inputs
from viz_encoder.inputs.text import TextReader
from viz_encoder.model.layer_masks import CustomMask

CODE = re.compile(r"(end|start):(\d{1,5})", re.ASCII)
NO_PAD = "Only texts are padded, by a model whose tokenizer has a padding token that it ignores."
SIDES = {"padding-right": "end", "padding-left": "start"}  # of the presets


def side_of(encoder: LoadedEncoder | None, inputs: Inputs | None, preset: str) -> str:
    """Side where a preset adds [PAD]: "end", "start", or "" if it adds none."""
    if preset not in SIDES or encoder is None or inputs is None or len(inputs.samples) != 1:
        return ""
    reader, padding = encoder.reader, encoder.padding
    if not isinstance(reader, TextReader) or reader.padded_to or padding.attended:
        return ""
    # Positions that are counted past padding cannot begin with it here.
    return "" if padding.no_position and SIDES[preset] == "start" else SIDES[preset]


@dataclass(frozen=True)
class Padding:
    """[PAD] tokens at one side of a text.

    The run attends to them, as a model does that is given no mask; which tokens are padding is
    known all the same.
    """

    side: str  # "end" or "start"
    count: int

    @classmethod
    def parsed(cls, code: str) -> "Padding | None":
        """The padding of a code such as "end:2"; None where it adds no token."""
        found = CODE.fullmatch(code)
        if found is None:
            raise SelectionError(f"{shown(code)} is not a padding code; write end:2 or start:2.")
        return cls(found[1], int(found[2])) if int(found[2]) else None

    @property
    def code(self) -> str:
        """Code used in links, such as "end:2"."""
        return f"{self.side}:{self.count}"

    @property
    def preset(self) -> str:
        """The name of the preset that masks them."""
        return next(name for name, side in SIDES.items() if side == self.side)

    def beside(self, encoder: LoadedEncoder, inputs: Inputs) -> Inputs:
        """One row with unmarked [PAD] at one side, for which the mask has yet to be given."""
        if not side_of(encoder, inputs, self.preset):
            raise SelectionError(NO_PAD)
        reader = encoder.reader
        assert isinstance(reader, TextReader)
        n_tokens = inputs.values.shape[1] + self.count
        if n_tokens > reader.max_tokens:
            raise TooLong(
                f"With {self.count:,} padding tokens this run has {n_tokens:,} tokens; the model "
                f"reads {reader.max_tokens:,}. Take fewer."
            )
        (sample,) = inputs.samples
        name = reader.tokenizer.id_to_token(reader.pad_id) or "[PAD]"
        note = (
            f"{self.count:,} {name} {'token was' if self.count == 1 else 'tokens were'} added at "
            f"the {self.side}, as in a batch with a longer text."
        )
        padded = replace(
            sample,
            tokens=self._around(sample.tokens, name),
            special=self._around(sample.special, True),
            words=self._around(sample.words, None),
            spans=self._around(sample.spans, (0, 0)),
            segments=self._around(sample.segments, 0),
            notes=(*sample.notes, note),
        )
        segments = None if inputs.segments is None else self._joined(inputs.segments, 0)
        ids, valid = self._joined(inputs.values, reader.pad_id), self._joined(inputs.valid, True)
        return Inputs(ids, valid, (padded,), segments, padded=inputs.padded)

    def real(self, n_tokens: int) -> Bool[Tensor, " token"]:
        """True where a token is no padding."""
        at = torch.arange(n_tokens)
        return at < n_tokens - self.count if self.side == "end" else at >= self.count

    def batch(self, inputs: Inputs) -> Inputs:
        """A batch of two: the row, and its real tokens over and over up to the same length."""
        n_tokens = inputs.values.shape[1]
        real = self.real(n_tokens)
        again = torch.arange(n_tokens) % int(real.sum())

        def two(values: Tensor) -> Tensor:
            return torch.cat([values, values[:, real.to(values.device)][:, again]])

        segments = None if inputs.segments is None else two(inputs.segments)
        values, valid = two(inputs.values), two(inputs.valid)
        return Inputs(values, valid, inputs.samples * 2, segments, padded=inputs.padded)

    def _joined(self, ids: Tensor, value: int | bool) -> Tensor:
        pads = ids.new_full((1, self.count), value)
        return torch.cat([ids, pads] if self.side == "end" else [pads, ids], dim=1)

    def _around(self, own: tuple[Any, ...], value: object) -> tuple[Any, ...]:
        pads = (value,) * self.count if own else ()
        return (*own, *pads) if self.side == "end" else (*pads, *own)


def of_first(mask: CustomMask | None) -> CustomMask | None:
    """A mask of the row alone as one of the batch of two; nothing masks the other row."""
    if mask is None:
        return None
    if isinstance(mask, Tensor):
        return _beside_an_open_one(mask)
    return {place: _beside_an_open_one(one) for place, one in mask.items()}


def _beside_an_open_one(mask: Bool[Tensor, "query key"]) -> Bool[Tensor, "batch query key"]:
    return torch.stack([mask, torch.ones_like(mask)])
