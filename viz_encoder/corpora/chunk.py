"""Chunks: a corpus in parts of some items each, what a part adds, and the files to resume from."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from PIL.Image import Image

from viz_encoder.arguments import said
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.corpora.corpus_items import Unreadable
from viz_encoder.corpora.head_sums import HeadSums
from viz_encoder.corpora.head_table import Failure
from viz_encoder.corpora.measured_batch import DECLARED, MeasuredBatch, measure_batch
from viz_encoder.corpora.statistics import ON_TEXTS, STATISTICS, is_sampled, sampled_distances
from viz_encoder.errors import InputError, TraceError, VizEncoderError
from viz_encoder.inputs import Inputs, TextReader
from viz_encoder.trace.batches import PICTURES, by_length
from viz_encoder.whole_file import write_whole

CHUNK_ITEMS = 1024  # enough for batches of like length, few enough that little is lost
FORMAT = 2  # version of the resume files


@dataclass(frozen=True)
class Settings:
    """Settings that apply to every item."""

    measures: tuple[str, ...]
    k: int
    sample: float = 0.1  # share of the items for what costs more than a forward pass
    # Out of the repr, by which parts without vectors are found again.
    pooling: str = field(default="", repr=False)  # how a text's vector is made; "" = none is
    rows: bool = field(default=False, repr=False)  # whether each text's own is kept


@dataclass(frozen=True, eq=False)
class Chunk:
    """Items that follow each other; `first` is the number of the first in the corpus."""

    first: int
    sources: tuple[Any, ...]

    @property
    def numbers(self) -> range:
        """The items' numbers."""
        return range(self.first, self.first + len(self.sources))

    def digest(self) -> str:
        """Digest of the items and their indices.

        Raises:
            InputError: items of a kind that cannot be told apart.
        """
        found = hashlib.sha256(str(self.first).encode())
        for source in self.sources:
            for part in _content(source):
                found.update(len(part).to_bytes(8, "little") + part)
        return found.hexdigest()


def chunks(items: Iterable[Any], size: int | None = None) -> Iterator[Chunk]:
    """The items in chunks, in order."""
    rest, first = iter(items), 0
    while sources := tuple(islice(rest, size or CHUNK_ITEMS)):
        yield Chunk(first, sources)
        first += len(sources)


def measure_items(
    encoder: LoadedEncoder,
    numbers: Sequence[int],
    sources: Sequence[Any],
    settings: Settings,
    tell: Callable[[int], None] = lambda n: None,
) -> HeadSums:
    """Measure these items in batches of similar length; `tell` is called after each batch."""
    config = encoder.config
    sums = HeadSums.empty(config.n_layers, config.n_heads, k=settings.k)
    given = list(zip(numbers, sources, strict=True))
    step = len(given) if encoder.kind == "text" else PICTURES
    for start in range(0, len(given), step):
        read = dict[int, Inputs]()
        for number, source in given[start : start + step]:
            try:
                read[number] = _read(encoder, source)
            except VizEncoderError as fault:
                sums.fail([Failure(number, str(fault))])
                tell(1)
        for group in by_length(encoder, read):
            _add(encoder, group, [read.pop(number) for number in group], sums, settings)
            tell(len(group))
    if sums.rows is not None:
        sums.rows = sums.rows.named(
            {number: source.name for number, source in given if isinstance(source, Path)}
        )
    return sums


def _read(encoder: LoadedEncoder, source: Any) -> Inputs:
    if isinstance(source, Unreadable):
        raise InputError(source.reason)
    inputs = source if isinstance(source, Inputs) else encoder.read(source)
    if len(inputs.samples) != 1:
        raise InputError(
            f"It holds {len(inputs.samples):,} inputs; give each one as a separate item."
        )
    return inputs


def _add(
    encoder: LoadedEncoder,
    numbers: Sequence[int],
    inputs: Sequence[Inputs],
    sums: HeadSums,
    settings: Settings,
) -> None:
    """A batch; where it cannot be run, one by one, so that only those are left out that fail."""
    try:
        batch = measure_batch(encoder, numbers, inputs, settings.pooling)
        more = _on_request(encoder, batch, inputs, settings)
        sums.add(batch)
        if settings.rows:
            sums.add_rows(batch)
        if more is not None:
            sums.add_distances(*more)
    except VizEncoderError as fault:
        if len(numbers) == 1:
            sums.fail([Failure(numbers[0], str(fault))])
            return
        for number, one in zip(numbers, inputs, strict=True):
            _add(encoder, [number], [one], sums, settings)


def _on_request(
    encoder: LoadedEncoder, batch: MeasuredBatch, inputs: Sequence[Inputs], settings: Settings
) -> tuple[Any, int] | None:
    """Effects and shares go into the batch's statistics; distances of heads are given back."""
    fine = set(batch.items) - set(batch.broken)
    sampled = [
        at
        for at, item in enumerate(batch.items)
        if item in fine and is_sampled(item, settings.sample)
    ]
    for name, (place, find) in ON_TEXTS.items():
        if name in settings.measures:
            for at in sampled:
                batch.statistics[at, :, :, place] = find(encoder, inputs[at])
    if "similarity" not in settings.measures:
        return None
    return sampled_distances(encoder, [inputs[at] for at in sampled])


def model_digest(encoder: LoadedEncoder) -> str:
    """Digest of the weights, the config and the tokenizer; independent of the name."""
    said = repr(encoder.config).replace("prediction_heads=", "heads=")  # as older tables have it
    found = hashlib.sha256(said.encode())
    for name, tensor in sorted(encoder.model.state_dict().items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    reader = encoder.reader
    told = reader.tokenizer.to_str() if isinstance(reader, TextReader) else repr(reader)
    found.update(told.encode())
    return found.hexdigest()


def pooling_digest(encoder: LoadedEncoder, pooling: str) -> str:
    """Digest of the files that declare the model's vectors; "" if they are not requested.

    They are no part of `model_digest`: maps are the same however vectors are made.
    """
    if pooling != DECLARED or encoder.declared is None:
        return ""
    facts = vars(encoder.declared) | {
        "steps": tuple(
            (type(step).__name__, *vars(step).values()) for step in encoder.declared.steps
        ),
        "prompts": tuple(sorted(encoder.declared.prompts.items())),
    }
    found = hashlib.sha256()
    for part in _content(tuple(facts.values())):
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()


class Parts:
    """A folder of chunks that are done, each under a digest of data, model and settings."""

    def __init__(self, folder: str | Path, model: str, settings: Settings) -> None:
        """The folder is made if it is not there."""
        self.folder = Path(folder)
        told = f"{FORMAT} {settings} {list(STATISTICS)} {model}"
        if settings.pooling:
            told += f" {settings.pooling} {settings.rows}"
        self._of_all = hashlib.sha256(told.encode()).hexdigest()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as fault:  # a ValueError: letters that no name here can hold
            why = (isinstance(fault, OSError) and fault.strerror) or str(fault)
            raise TraceError(f"{said(str(folder))} cannot be used as a folder: {why}.") from fault

    def path(self, chunk: Chunk) -> Path:
        """File that stores this chunk's sums."""
        key = hashlib.sha256(f"{self._of_all} {chunk.digest()}".encode()).hexdigest()
        return self.folder / f"part-{key[:32]}.npz"

    def kept(self, chunk: Chunk) -> HeadSums | None:
        """This chunk's sums; None where they are not there or not whole."""
        try:
            return HeadSums.from_bytes(self.path(chunk).read_bytes())
        except (OSError, TraceError):
            return None

    def keep(self, chunk: Chunk, sums: HeadSums) -> None:
        """Put a chunk's sums there; the file appears whole or not at all."""
        write_whole([sums.to_bytes()], self.path(chunk))


def _content(source: Any) -> tuple[bytes, ...]:
    match source:
        case str():
            return b"text", source.encode("utf-8", "surrogatepass")
        case Unreadable():
            return b"unreadable", source.reason.encode("utf-8", "surrogatepass")
        case tuple():
            return b"pair", *(part for each in source for part in _content(each))
        case Path():
            return b"picture", source.read_bytes() if source.is_file() else b""
        case Image():
            return b"image", f"{source.mode} {source.size}".encode(), source.tobytes()
        case torch.Tensor():
            plain = source.detach().cpu().contiguous()
            about = f"{plain.dtype} {tuple(plain.shape)}".encode()
            return b"tensor", about, plain.flatten().view(torch.uint8).numpy().tobytes()
        case None | int() | float():
            return b"other", repr(source).encode()
        case list():
            return b"list", *(part for each in source for part in _content(each))
    raise InputError(
        f"Items of type {type(source).__name__} cannot be recognized when resuming; leave out "
        "folder=."
    )
