"""Batches: many inputs through an encoder, sorted by length; hidden states, and nothing else."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError, TraceError
from viz_encoder.inputs import Inputs, Sample, TextReader
from viz_encoder.trace.capture import run
from viz_encoder.trace.states import States, read_through

BATCH_TOKENS = 1024  # more make a CPU no faster, and hold more memory
PICTURES = 8  # read at a time
Read = Callable[[Any], Inputs]
Progress = Callable[[int, int], bool | None]  # items done, items in all; False stops


@dataclass(frozen=True, eq=False)
class Batch:
    """Some of the items, by their numbers in the list that was given."""

    numbers: tuple[int, ...]
    states: States
    samples: tuple[Sample, ...]  # without what fills the batch up


def batches(
    encoder: LoadedEncoder,
    sources: Sequence[Any],
    layers: tuple[int, ...],
    *,
    read: Read | None = None,
    progress: Progress | None = None,
    batch_tokens: int = BATCH_TOKENS,
) -> Iterator[Batch]:
    """Run all sources, the longest first, in batches of like length.

    Args:
        encoder: the model.
        sources: texts, pairs or pictures, as `capture` takes them.
        layers: after which layers hidden states are handed out, each from 0 to n_layers.
        read: what makes inputs of a source; `encoder.read` if not given.
        progress: called with the number of items done and of all; if it returns False, the run
            stops.
        batch_tokens: how many tokens a batch of texts holds at most, padding counted.

    Raises:
        InputError: an item that cannot be read, named by its number; or no item.
        TraceError: stopped by `progress`.
    """
    if not sources:
        raise InputError("The set is empty; give at least one item.")
    done, total = 0, len(sources)
    read = read or encoder.read
    for numbers, inputs in _planned(encoder, sources, read, batch_tokens):
        padded = joined(encoder, inputs)
        ran = run(encoder, padded)
        states = read_through(encoder, ran.hidden, ran.output, padded.valid, layers)
        states = replace(states, n_prompt=padded.samples[0].n_prompt)  # one prompt goes before all
        del ran  # and with it queries, keys and values
        yield Batch(tuple(numbers), states, padded.samples)
        done += len(numbers)
        if progress is not None and progress(done, total) is False and done < total:
            raise TraceError(f"Stopped after {done:,} of {total:,} items; nothing was kept.")


def _planned(
    encoder: LoadedEncoder, sources: Sequence[Any], read_one: Read, batch_tokens: int
) -> Iterator[tuple[list[int], list[Inputs]]]:
    """Which items run together; texts are all read first, pictures a few at a time."""
    step = len(sources) if encoder.kind == "text" else PICTURES
    for start in range(0, len(sources), step):
        part = range(start, min(start + step, len(sources)))
        read = {number: _read(read_one, sources, number) for number in part}
        for group in by_length(encoder, read, batch_tokens):
            yield group, [read[each] for each in group]


def by_length(
    encoder: LoadedEncoder, read: Mapping[int, Inputs], batch_tokens: int = BATCH_TOKENS
) -> Iterator[list[int]]:
    """Which inputs run together, by their numbers, the longest first; pictures of one size."""
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
    """One batch, shorter texts padded behind."""
    samples = tuple(sample for part in parts for sample in part.samples)
    if encoder.kind != "text":
        values, valid = (
            torch.cat([getattr(p, name) for p in parts]) for name in ("values", "valid")
        )
        return Inputs(values, valid, samples, padded=not bool(valid.all()))
    pad = encoder.reader.pad_id if isinstance(encoder.reader, TextReader) else encoder.padding.id
    ids = pad_sequence([part.values[0] for part in parts], batch_first=True, padding_value=pad or 0)
    valid = pad_sequence([part.valid[0] for part in parts], batch_first=True)
    # Ids come without segments where texts have some; 0 is what the encoder takes for none.
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
