"""Padded: real [PAD] tokens beside a text, as a row of a batch with a longer text has them."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import TooLong
from viz_encoder.inputs import Inputs
from viz_encoder.inputs.text import TextReader
from viz_encoder.model.layer_masks import CustomMask
from viz_encoder.trace import Trace, capture

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
class Padded:
    """[PAD] tokens added at one side of a run, and the original run's key."""

    side: str  # "end" or "start"
    count: int
    alone: str

    @property
    def code(self) -> str:
        """Code used in links, such as "end:2"."""
        return f"{self.side}:{self.count}"

    @property
    def preset(self) -> str:
        """The name of the preset that masks them."""
        return next(name for name, side in SIDES.items() if side == self.side)


def padded_inputs(encoder: LoadedEncoder, inputs: Inputs, side: str, count: int) -> Inputs:
    """One row with unmarked [PAD] at one side, for which the mask has yet to be given."""
    reader = encoder.reader
    assert isinstance(reader, TextReader)
    n_tokens = inputs.values.shape[1] + count
    if n_tokens > reader.max_tokens:
        raise TooLong(
            f"With {count:,} padding tokens this run has {n_tokens:,} tokens; the model reads "
            f"{reader.max_tokens:,}. Take fewer."
        )

    def beside(ids: Tensor, value: int | bool) -> Tensor:
        pads = ids.new_full((1, count), value)
        return torch.cat([ids, pads] if side == "end" else [pads, ids], dim=1)

    def around(own: tuple[Any, ...], value: object) -> tuple[Any, ...]:
        pads = (value,) * count if own else ()
        return (*own, *pads) if side == "end" else (*pads, *own)

    (sample,) = inputs.samples
    name = reader.tokenizer.id_to_token(reader.pad_id) or "[PAD]"
    note = (
        f"{count:,} {name} {'token was' if count == 1 else 'tokens were'} added at the {side}, as "
        "in a batch with a longer text."
    )
    padded = replace(
        sample,
        tokens=around(sample.tokens, name),
        special=around(sample.special, True),
        words=around(sample.words, None),
        spans=around(sample.spans, (0, 0)),
        segments=around(sample.segments, 0),
        notes=(*sample.notes, note),
    )
    segments = None if inputs.segments is None else beside(inputs.segments, 0)
    ids, valid = beside(inputs.values, reader.pad_id), beside(inputs.valid, True)
    return Inputs(ids, valid, (padded,), segments, padded=inputs.padded)


def padded_trace(
    encoder: LoadedEncoder, inputs: Inputs, padded: Padded, mask: CustomMask | None = None
) -> Trace:
    """The row's trace, run in a batch beside a row of the same length without padding.

    Args:
        encoder: the model.
        inputs: the row, from `padded_inputs`.
        padded: what in it is padding; the trace marks it.
        mask: what the model is given, for this row alone; nothing masks the other one.
    """
    batch = _beside_a_longer(inputs, padded)
    if mask is not None:
        mask = (
            _of_first(mask)
            if isinstance(mask, Tensor)
            else {place: _of_first(one) for place, one in mask.items()}
        )
    trace: Trace = capture(encoder, batch, mask=mask)[0]
    return replace(trace, valid=trace.valid & real_tokens(padded, trace.n_tokens))


def real_tokens(padded: Padded, n_tokens: int) -> Bool[Tensor, " token"]:
    """True where a token is no padding."""
    at = torch.arange(n_tokens)
    return at < n_tokens - padded.count if padded.side == "end" else at >= padded.count


def _beside_a_longer(inputs: Inputs, padded: Padded) -> Inputs:
    """A batch of two: the row, and its real tokens over and over up to the same length."""
    n_tokens = inputs.values.shape[1]
    real = real_tokens(padded, n_tokens)
    again = torch.arange(n_tokens) % int(real.sum())

    def two(values: Tensor) -> Tensor:
        return torch.cat([values, values[:, real.to(values.device)][:, again]])

    segments = None if inputs.segments is None else two(inputs.segments)
    values, valid = two(inputs.values), two(inputs.valid)
    return Inputs(values, valid, inputs.samples * 2, segments, padded=inputs.padded)


def _of_first(mask: Bool[Tensor, "query key"]) -> Bool[Tensor, "batch query key"]:
    return torch.stack([mask, torch.ones_like(mask)])
