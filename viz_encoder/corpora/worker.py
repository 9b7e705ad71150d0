"""HeadWorker: rows in, one small row back; for Ray Data's map_batches and for datasets.map."""

from collections.abc import Mapping, Sequence
from typing import Any

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.corpora.chunk import Settings, measure_items
from viz_encoder.corpora.corpus_items import TextColumns
from viz_encoder.errors import InputError

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
        """{"item": [the first number], "sums": [bytes]}, whatever the size of the batch.

        Raises:
            InputError: rows without numbers.
        """
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
