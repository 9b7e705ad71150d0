"""Ray engine: chunks on the workers of a Ray cluster, or of this machine, by Ray Data.

Ray is imported only here, and only when it is asked for. A chunk travels as one block of texts, and
one row of kilobytes comes back; a worker that dies is started again and its chunks run again.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.corpora.chunk import CHUNK_ITEMS, Chunk, Parts, Settings
from viz_encoder.corpora.corpus_items import TextColumns, Unreadable
from viz_encoder.corpora.engine import ITEM, SUMS, CorpusWatch, HeadWorker
from viz_encoder.corpora.head_sums import HeadSums
from viz_encoder.errors import InputError, VizEncoderError
from viz_encoder.whole_file import write_whole

AT_ONCE = 256 * 10**6  # bytes of texts in Ray's object store; a larger corpus runs in turns
TEXT, SECOND, PICTURE, REASON = "text", "text_b", "picture", "reason"
KINDS = (TEXT, SECOND, PICTURE, REASON)


@dataclass(frozen=True)
class Cluster:
    """Where it runs: workers, GPUs per worker, and the cluster's address if any."""

    workers: int | None = None
    gpus: float = 0.0
    address: str | None = None


class ChunkWorker(HeadWorker):
    """A worker of chunks, on an encoder from Ray's object store."""

    def __init__(self, kept: Any, settings: Settings, columns: TextColumns, gpus: float) -> None:
        encoder: LoadedEncoder = import_module("ray").get(kept)
        if gpus:
            encoder = encoder.to(torch.device("cuda"), encoder.dtype)
        super().__init__(encoder, settings, columns)

    def sources(self, batch: Mapping[str, Any]) -> list[Any]:
        """Rows of `_block`, or a person's own."""
        if REASON not in batch:
            return super().sources(batch)
        return [_source(*row) for row in zip(*(batch[kind] for kind in KINDS), strict=True)]


def measured_on_ray(
    encoder: LoadedEncoder,
    given: Iterable[Chunk],
    settings: Settings,
    parts: Parts | None,
    watch: CorpusWatch,
    cluster: Cluster,
) -> Iterator[HeadSums]:
    """The sums of each chunk, as they come; those that a folder keeps are not made again.

    Raises:
        VizEncoderError: Ray is not installed.
        InputError: items that do not travel: others than texts, pairs and pictures' paths.
    """
    with _running(cluster) as ray:
        kept = ray.put(_on_cpu(encoder))
        blocks, held, paths = list[Any](), 0, dict[int, Path]()
        for chunk in given:
            done = None if parts is None else parts.kept(chunk)
            if done is not None:
                watch.tell(len(chunk.sources), resumed=True)
                yield done
                continue
            if parts is not None:
                paths[chunk.first] = parts.path(chunk)
            blocks.append(_block(chunk))
            held += blocks[-1].nbytes
            if held > AT_ONCE:
                rows = ray.data.from_arrow(blocks)
                blocks, held = [], 0
                yield from _sums(rows, None, kept, settings, cluster, watch, paths)
        if blocks:
            rows = ray.data.from_arrow(blocks)
            yield from _sums(rows, None, kept, settings, cluster, watch, paths)


def measured_dataset(
    encoder: LoadedEncoder,
    rows: Any,
    columns: TextColumns,
    settings: Settings,
    watch: CorpusWatch,
    cluster: Cluster,
) -> Iterator[HeadSums]:
    """The sums of a ray.data.Dataset, which the cluster reads itself; it has a column "item"."""
    names = rows.schema().names
    for name in (*columns, ITEM):
        if name is not None and name not in names:
            raise InputError(
                f"The dataset has no column {name!r}; its columns are "
                f"{', '.join(map(repr, names[:20]))}. It "
                'needs the texts (column=) and "item", each row\'s number in the corpus.'
            )
    with _running(cluster) as ray:
        kept = ray.put(_on_cpu(encoder))
        yield from _sums(rows, columns, kept, settings, cluster, watch, {})


def is_dataset(items: object) -> bool:
    """Whether it is one of Ray's own datasets."""
    return type(items).__module__.startswith("ray.data")


def _sums(
    rows: Any,
    columns: TextColumns | None,
    kept: Any,
    settings: Settings,
    cluster: Cluster,
    watch: CorpusWatch,
    paths: Mapping[int, Path],
) -> Iterator[HeadSums]:
    """Each batch's sums; without columns, a batch is one block of `_block`, whole."""
    ray = import_module("ray")
    found = rows.map_batches(
        ChunkWorker,
        batch_size=None if columns is None else CHUNK_ITEMS,
        batch_format="numpy",
        compute=ray.data.ActorPoolStrategy(size=_n_workers(ray, cluster)),
        num_gpus=cluster.gpus or None,
        fn_constructor_args=(kept, settings, columns or TextColumns(), cluster.gpus),
    )
    for row in found.iter_rows():
        sums = HeadSums.from_bytes(row[SUMS])
        if row[ITEM] in paths:
            write_whole([row[SUMS]], paths[row[ITEM]])
        watch.tell(sums.n_texts + sums.n_failed)
        yield sums


@contextmanager
def _running(cluster: Cluster) -> Iterator[Any]:
    """Ray, started here if it does not run yet, and then stopped again."""
    try:
        ray = import_module("ray")
        import_module("ray.data")
    except ImportError as fault:
        raise VizEncoderError(
            'on="ray" needs Ray Data, which is not installed. Run: pip install "viz-encoder[ray]".'
        ) from fault
    started = not ray.is_initialized()
    if started:
        own = {} if cluster.address else {"include_dashboard": False}
        ray.init(address=cluster.address, log_to_driver=False, **own)
    context = ray.data.DataContext.get_current()
    shown, context.enable_progress_bars = context.enable_progress_bars, False
    try:
        yield ray
    finally:
        context.enable_progress_bars = shown
        if started:
            ray.shutdown()


def _n_workers(ray: Any, cluster: Cluster) -> int:
    if cluster.workers is not None:
        return cluster.workers
    there = ray.cluster_resources()
    free = there.get("GPU", 0) / cluster.gpus if cluster.gpus else there.get("CPU", 1)
    return max(1, int(free))


def _on_cpu(encoder: LoadedEncoder) -> LoadedEncoder:
    """A copy that every worker can open, whatever device it has."""
    if encoder.device.type == "cpu":
        return encoder
    return copy.deepcopy(encoder).to(torch.device("cpu"), encoder.dtype)


def _block(chunk: Chunk) -> Any:
    import pyarrow as pa  # Ray needs it

    rows = [_row(source) for source in chunk.sources]
    columns = dict(zip(KINDS, map(list, zip(*rows, strict=True)), strict=True))
    numbers = {ITEM: pa.array(list(chunk.numbers), pa.int64())}
    return pa.table(
        numbers | {name: pa.array(values, pa.string()) for name, values in columns.items()}
    )


ArrowRow = tuple[str | None, str | None, str | None, str | None]


def _row(source: Any) -> ArrowRow:
    match source:
        case str():
            return _plain(source), None, None, None
        case (str() as first, str() as second) if not isinstance(source, Unreadable):
            return _plain(first), _plain(second), None, None
        case Path():
            return None, None, str(source.resolve()), None
        case Unreadable():
            return None, None, None, source.reason
    raise InputError(
        f"An item of type {type(source).__name__} cannot be sent to Ray's workers; give texts, "
        'pairs of texts or paths of pictures, or choose on="local".'
    )


def _source(text: str | None, second: str | None, picture: str | None, reason: str | None) -> Any:
    if reason is not None:
        return Unreadable(reason)
    if picture is not None:
        return Path(picture)
    return text if second is None else (text, second)


def _plain(text: str) -> str:
    """Arrow holds no lone surrogates; the reader would replace them in the same way."""
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
