"""How a corpus is run here, chunk after chunk: the progress it tells, and the worker of a chunk."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.corpora.chunk import Chunk, Parts, Settings, measure_items
from viz_encoder.corpora.corpus_items import TextColumns
from viz_encoder.corpora.head_sums import HeadSums
from viz_encoder.errors import InputError, TraceError


@dataclass(frozen=True)
class Done:
    """Progress of a corpus: items done, the total if known, and the start time."""

    n: int
    total: int | None
    resumed: int  # of n, finished in an earlier run
    seconds: float

    @property
    def rate(self) -> float:
        """Items a second, without those that were done before."""
        return (self.n - self.resumed) / self.seconds if self.seconds > 0 else 0.0

    @property
    def sentence(self) -> str:
        """Such as "1,200 of 2,000, 310 a second"."""
        of = "" if self.total is None else f" of {self.total:,}"
        return f"{self.n:,}{of}, {self.rate:,.0f} a second"


TellDone = Callable[[Done], bool | None]  # False stops


class CorpusWatch:
    """Reports progress, and stops the work when told to."""

    def __init__(
        self, total: int | None, progress: TellDone | None, folder: str | Path | None
    ) -> None:
        self._total, self._progress, self._folder = total, progress, folder
        self._n = self._resumed = 0
        self._start = time.monotonic()

    def tell(self, n: int, resumed: bool = False) -> None:
        """Count n more items."""
        self._n += n
        self._resumed += n if resumed else 0
        if self._progress is None:
            return
        done = Done(self._n, self._total, self._resumed, time.monotonic() - self._start)
        if self._progress(done) is False and self._n != self._total:
            kept = "nothing was kept" if self._folder is None else f"{self._folder} keeps the parts"
            raise TraceError(f"Stopped after {done.sentence}; {kept}.")


def measured_here(
    encoder: LoadedEncoder,
    given: Iterable[Chunk],
    settings: Settings,
    parts: Parts | None,
    watch: CorpusWatch,
) -> Iterator[HeadSums]:
    """The sums of each chunk, in order; those that a folder keeps are not made again."""
    for chunk in given:
        kept = None if parts is None else parts.kept(chunk)
        if kept is not None:
            watch.tell(len(chunk.sources), resumed=True)
        else:
            kept = measure_items(encoder, chunk.numbers, chunk.sources, settings, watch.tell)
            if parts is not None:
                parts.keep(chunk, kept)
        yield kept


ITEM, SUMS = "item", "sums"


class HeadWorker:
    """Measures the rows of one batch; its sums, as bytes, are one row.

    `vz.corpora.HeadSums.from_bytes` reads them, and `merge` adds them up. A batch is a dict of
    columns: the texts, text B of pairs if `columns` names one, and "item", each row's number in the
    corpus. Where numbers come beside the batch (`datasets.map(with_indices=True)`), they are taken.
    """

    def __init__(
        self, encoder: LoadedEncoder, settings: Settings, columns: TextColumns | None = None
    ) -> None:
        """The caller loads the encoder, once; the column of the texts is "text"."""
        self.encoder, self.settings, self.columns = encoder, settings, columns or TextColumns()

    def __call__(
        self, batch: Mapping[str, Any], numbers: Sequence[int] | None = None
    ) -> dict[str, list[Any]]:
        """{"item": [the first number], "sums": [bytes]}, whatever the size of the batch."""
        given = batch.get(ITEM) if numbers is None else numbers
        if given is None:
            raise InputError(
                'Each row needs its number in the corpus: a column "item", or '
                "datasets.map(worker, batched=True, with_indices=True)."
            )
        items = [int(number) for number in given]
        sums = measure_items(self.encoder, items, self.sources(batch), self.settings)
        return {ITEM: items[:1], SUMS: [sums.to_bytes()]}

    def sources(self, batch: Mapping[str, Any]) -> list[Any]:
        """Convert rows to encoder inputs."""
        names = [name for name in self.columns if name is not None]
        columns = [_plain(batch[name]) for name in names]
        rows = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
        return [self.columns.of(row) for row in rows]


def _plain(column: Any) -> list[Any]:
    return column.tolist() if hasattr(column, "tolist") else list(column)
