"""Inputs that a person brings ready made: token ids, pixels or vectors."""

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from tokenizers import Tokenizer
from torch import Tensor

from viz_encoder.checkpoints.valid import PaddingIds, mark_padding
from viz_encoder.config import Embedding, EncoderConfig
from viz_encoder.errors import InputError
from viz_encoder.inputs import Grid, ImageReader, Inputs, Sample, TextReader
from viz_encoder.inputs.plain_tensor import UNKNOWN_SCALE, picture_of, plain_tensor

VALUES = {Embedding.TOKEN: "input_ids", Embedding.PATCH: "pixel_values"}
MASK, SEGMENTS = "attention_mask", "token_type_ids"
UNUSED = {"special_tokens_mask", "offset_mapping", "length"}  # which tell, and change nothing


def is_ready_made(source: Any, config: EncoderConfig) -> bool:
    """Whether this is a tensor, an array, numbers, or what a tokenizer of transformers returns."""
    if isinstance(source, Tensor | Mapping):
        return True
    patches = config.embedding is Embedding.PATCH  # an array is a picture there
    if isinstance(source, list):
        kinds: Any = Tensor if patches else Tensor | np.ndarray | list | Integral
        return bool(source) and all(isinstance(each, kinds) for each in source)
    return isinstance(source, np.ndarray) and not patches


def read_ready_made(
    source: Any,
    valid: Any,
    config: EncoderConfig,
    padding: PaddingIds,
    reader: TextReader | ImageReader | None,
) -> Inputs:
    """Read one row or several of equal length; a list of rows of different lengths is padded.

    Raises:
        InputError: values that this encoder does not take, or padding that it cannot have.
    """
    tokenizer = reader.tokenizer if isinstance(reader, TextReader) else None
    values, segments, told_by = source, None, "valid"
    if isinstance(source, Mapping):
        if valid is not None:
            raise InputError(f"Mark the real tokens once: with {MASK} or with valid=.")
        values, valid, segments = _unpacked(source, config)
        told_by = MASK
    values, n_real = _rows(values, config, padding)
    values = _checked(values, config)
    n_tokens = _n_tokens(values, config)
    real, notes = mark_padding(
        values, n_tokens, n_real, (valid, told_by), config, padding, tokenizer
    )
    if segments is not None:
        segments = _checked_segments(segments, values)
    samples = tuple(
        _sample(
            row,
            real[at],
            notes[at],
            n_tokens,
            config,
            tokenizer,
            segments is not None and segments[at],
        )
        for at, row in enumerate(values)
    )
    if config.embedding is Embedding.PATCH:
        samples = tuple(
            _with_picture(sample, row, reader) for sample, row in zip(samples, values, strict=True)
        )
    return Inputs(values, real, samples, segments, padded=not bool(real.all()))


def _unpacked(source: Mapping[str, Any], config: EncoderConfig) -> tuple[Any, Any, Any]:
    """Values, real tokens and segments of what a tokenizer or an image processor returned."""
    name = VALUES.get(config.embedding, "inputs_embeds")
    odd = sorted(map(str, set(source) - {name, MASK, SEGMENTS} - UNUSED))
    if name not in source or odd:
        held = ", ".join(map(str, source))[:80] or "nothing"
        raise InputError(
            f"The input holds {held}; this model takes {name} and, optionally, {MASK} and "
            f"{SEGMENTS}."
        )
    mask = source.get(MASK)
    if mask is not None:
        mask = _tensor(mask, MASK)
        if bool(((mask != 0) & (mask != 1)).any()):
            raise InputError(f"{MASK} must hold 0 for padding and 1 for real tokens.")
        mask = mask.bool()
    segments = source.get(SEGMENTS)
    return source[name], mask, None if segments is None else _tensor(segments, SEGMENTS)


def _tensor(value: Any, name: str) -> Tensor:
    if isinstance(value, Tensor):
        return plain_tensor(value, name).detach().cpu()
    try:
        return plain_tensor(torch.as_tensor(value), name)
    except (TypeError, ValueError, RuntimeError, OverflowError) as fault:
        raise InputError(
            f"{name} cannot be made into a tensor: {str(fault)[:100].rstrip('.')}."
        ) from fault


def _rows(
    source: Any, config: EncoderConfig, padding: PaddingIds
) -> tuple[Tensor, list[int] | None]:
    """The values with a batch axis; and, of rows in a list, how many tokens each has."""
    n_axes = {Embedding.TOKEN: 1, Embedding.PATCH: 3, Embedding.VECTOR: 2}[config.embedding]
    if not isinstance(source, list) or isinstance(source[0], Integral):
        values = _tensor(source, "The input")
        return (values[None] if values.ndim == n_axes else values), None
    rows = [_tensor(each, f"Row {number}") for number, each in enumerate(source, 1)]
    rows = [row[0] if row.ndim == n_axes + 1 and len(row) == 1 else row for row in rows]
    if empty := [number for number, row in enumerate(rows, 1) if not row.numel()]:
        raise InputError(f"Row {empty[0]} is empty; give each row at least one token.")
    shapes = {(row.ndim, row.shape[1:], row.dtype) for row in rows}
    if rows[0].ndim != n_axes or len(shapes) > 1:
        found = ", ".join(str(tuple(row.shape)) for row in rows[:4])
        raise InputError(f"The rows have shapes {found}; each must be one input of the same kind.")
    lengths = [len(row) for row in rows]
    if config.embedding is Embedding.PATCH:
        if len(set(lengths)) > 1:
            raise InputError(
                f"The pictures differ in their number of channels; one has {lengths[0]}."
            )
        return torch.stack(rows), None
    fill = 0 if config.embedding is Embedding.VECTOR else padding.id or 0
    whole = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=fill)
    return whole, lengths if len(set(lengths)) > 1 else None


def _checked(values: Tensor, config: EncoderConfig) -> Tensor:
    """The tensor, if it has the axes and the type that this encoder takes."""
    ids = config.embedding is Embedding.TOKEN
    axes = {
        Embedding.TOKEN: "(batch, token)",
        Embedding.PATCH: f"(batch, {config.n_channels} channels, height, width)",
        Embedding.VECTOR: f"(batch, token, {config.d_model})",
    }[config.embedding]
    shape = tuple(values.shape)
    fits = {
        Embedding.TOKEN: len(shape) == 2,
        Embedding.PATCH: len(shape) == 4 and shape[1] == config.n_channels,
        Embedding.VECTOR: len(shape) == 3 and shape[-1] == config.d_model,
    }[config.embedding]
    if not fits or not values.numel():
        raise InputError(
            f"The tensor has shape {shape}; this model takes {axes}, none of them 0, or one input "
            "without the batch axis."
        )
    if ids and (values.is_floating_point() or values.is_complex() or values.dtype == torch.bool):
        raise InputError(f"The tensor is {values.dtype}; token ids must be whole numbers.")
    if ids:
        return values.long()
    if not values.is_floating_point():
        raise InputError(f"The tensor is {values.dtype}; this model takes floating point.")
    if not bool(torch.isfinite(values).all()):
        raise InputError("The tensor holds NaN or infinite values; replace them first.")
    return values


def _checked_segments(segments: Tensor, ids: Tensor) -> Tensor:
    segments = segments[None] if segments.ndim == 1 else segments
    if segments.shape != ids.shape or segments.is_floating_point():
        raise InputError(
            f"{SEGMENTS} has shape {tuple(segments.shape)}; it must be {tuple(ids.shape)}."
        )
    return segments.long()


def _n_tokens(values: Tensor, config: EncoderConfig) -> int:
    if config.embedding is not Embedding.PATCH:
        return values.shape[1]
    side = config.patch_size
    return len(config.prefix) + (values.shape[-2] // side) * (values.shape[-1] // side)


def _sample(
    row: Tensor,
    real: Bool[Tensor, " token"],
    notes: tuple[str, ...],
    n_tokens: int,
    config: EncoderConfig,
    tokenizer: Tokenizer | None,
    segments: Any,
) -> Sample:
    """Ids by the tokenizer's words or as numbers, patches by row and column."""
    names, special, grid = list(map(str, range(n_tokens))), [False] * n_tokens, None
    if config.embedding is Embedding.TOKEN:
        known = _special_ids(tokenizer)
        ids = row.tolist()
        # A number that no table has is refused by the encoder, in a sentence.
        known_to = range(config.vocab_size) if tokenizer else range(0)
        names = [(n in known_to and tokenizer and tokenizer.id_to_token(n)) or str(n) for n in ids]
        special = [n in known for n in ids]
    elif config.embedding is Embedding.PATCH:
        height, width = (side // config.patch_size for side in row.shape[-2:])
        grid = Grid(height, width, len(config.prefix))
        names = [*config.prefix, *grid.patches]
        special = [at < grid.n_prefix for at in range(n_tokens)]
    special = [its or not true for its, true in zip(special, real.tolist(), strict=True)]
    told = tuple(segments.tolist()) if isinstance(segments, Tensor) else ()
    return Sample(tuple(names), tuple(special), segments=told, grid=grid, notes=notes)


def _with_picture(sample: Sample, row: Tensor, reader: TextReader | ImageReader | None) -> Sample:
    """The sample with the picture that its pixels are of, and what must be said of its colors."""
    if isinstance(reader, ImageReader):
        found = picture_of(row, reader.mean, reader.std)
        return replace(sample, picture=found)
    found = picture_of(row)
    return replace(sample, picture=found, notes=(*sample.notes, UNKNOWN_SCALE))


def _special_ids(tokenizer: Tokenizer | None) -> set[int]:
    added = {} if tokenizer is None else tokenizer.get_added_tokens_decoder()
    return {number for number, token in added.items() if token.special}
