"""Batches: runs many inputs through an encoder, sorted by length, for hidden states only."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError, TraceError
from viz_encoder.inputs import Inputs, Sample, TextReader
from viz_encoder.trace.capture import run
from viz_encoder.trace.states import States, states_of_batch

BATCH_TOKENS = 1024  # more is no faster on a CPU and uses more memory
PICTURES = 8  # number read at a time
Read = Callable[[Any], Inputs]
TellItems = Callable[[int, int], bool | None]  # (items done, total items); False stops


@dataclass(frozen=True, eq=False)
class Batch:
    """Some of the items, by their indices in the given list."""

    numbers: tuple[int, ...]
    states: States
    samples: tuple[Sample, ...]  # without padding


def batches(
    encoder: LoadedEncoder,
    sources: Sequence[Any],
    layers: tuple[int, ...],
    *,
    methods: Sequence[str] = (),
    read: Read | None = None,
    progress: TellItems | None = None,
    batch_tokens: int = BATCH_TOKENS,
) -> Iterator[Batch]:
    """Run all sources in batches of similar length, longest first.

    Args:
        encoder: the model.
        sources: texts, pairs or pictures, as `capture` takes them.
        layers: the layers whose hidden states are returned, each from 0 to n_layers.
        methods: the poolings that are asked of the states.
        read: turns a source into inputs; default `encoder.read`.
        progress: called with the items done and the total; return False to stop.
        batch_tokens: the most tokens in a batch of texts, including padding.

    Raises:
        InputError: an item cannot be read (the message gives its index), or there are none.
        TraceError: stopped by `progress`.
    """
    if not sources:
        raise InputError("The set is empty; give at least one item.")
    done, total = 0, len(sources)
    read = read or encoder.read
    for numbers, inputs in _planned(encoder, sources, read, batch_tokens):
        padded = joined(encoder, inputs)
        ran = run(encoder, padded)
        states = states_of_batch(encoder, ran, padded.valid, layers, methods)
        states = replace(states, n_prompt=padded.samples[0].n_prompt)  # shared by the batch
        del ran  # frees queries, keys and values too, unless a pooling reads them
        yield Batch(tuple(numbers), states, padded.samples)
        done += len(numbers)
        if progress is not None and progress(done, total) is False and done < total:
            raise TraceError(f"Stopped after {done:,} of {total:,} items; nothing was kept.")


def _planned(
    encoder: LoadedEncoder, sources: Sequence[Any], read_one: Read, batch_tokens: int
) -> Iterator[tuple[list[int], list[Inputs]]]:
    """Plan which items run together; texts are all read first, images a few at a time."""
    step = len(sources) if encoder.kind == "text" else PICTURES
    for start in range(0, len(sources), step):
        part = range(start, min(start + step, len(sources)))
        read = {number: _read(read_one, sources, number) for number in part}
        for group in by_length(encoder, read, batch_tokens):
            yield group, [read[each] for each in group]


def by_length(
    encoder: LoadedEncoder, read: Mapping[int, Inputs], batch_tokens: int = BATCH_TOKENS
) -> Iterator[list[int]]:
    """Group inputs of similar length by index, longest first; images all have one size."""
    order = sorted(read, key=lambda number: (*_shape(encoder, read[number]), -number))
    group: list[int] = []
    for number in reversed(order):
        if group and not _joins(encoder, read[group[0]], read[number], len(group), batch_tokens):
            yield group
            group = []
        group.append(number)
    if group:
        yield group


def _read(read_one: Read, sources: Sequence[Any], number: int) -> Inputs:
    try:
        inputs = read_one(sources[number])
    except InputError as fault:
        raise type(fault)(f"Item {number + 1} of {len(sources):,}: {fault}") from fault
    if len(inputs.samples) != 1:
        raise InputError(
            f"Item {number + 1} of {len(sources):,} holds {len(inputs.samples):,} inputs; give "
            "each one as a separate item."
        )
    return inputs


def _shape(encoder: LoadedEncoder, inputs: Inputs) -> tuple[int, ...]:
    return (inputs.valid.shape[1],) if encoder.kind == "text" else tuple(inputs.values.shape[1:])


def _joins(
    encoder: LoadedEncoder, longest: Inputs, inputs: Inputs, n_group: int, batch_tokens: int
) -> bool:
    if encoder.kind == "text":
        return (n_group + 1) * longest.valid.shape[1] <= batch_tokens
    return _shape(encoder, longest) == _shape(encoder, inputs)


def joined(encoder: LoadedEncoder, parts: Sequence[Inputs]) -> Inputs:
    """Join inputs into one batch, right-padding shorter texts."""
    samples = tuple(sample for part in parts for sample in part.samples)
    if encoder.kind != "text":
        values, valid = (
            torch.cat([getattr(p, name) for p in parts]) for name in ("values", "valid")
        )
        return Inputs(values, valid, samples, padded=not bool(valid.all()))
    pad = encoder.reader.pad_id if isinstance(encoder.reader, TextReader) else encoder.padding.id
    ids = pad_sequence([part.values[0] for part in parts], batch_first=True, padding_value=pad or 0)
    valid = pad_sequence([part.valid[0] for part in parts], batch_first=True)
    # Ids come without segments where other texts have some; the encoder reads 0 as none.
    segments = [
        torch.zeros_like(part.values[0]) if part.segments is None else part.segments[0]
        for part in parts
    ]
    told = any(part.segments is not None for part in parts)
    return Inputs(
        ids,
        valid,
        samples,
        pad_sequence(segments, batch_first=True) if told else None,
        padded=not bool(valid.all()),
    )
