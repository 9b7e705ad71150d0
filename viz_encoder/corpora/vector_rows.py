"""Vector rows: each text's own vector, put aside part by part, and written as one Parquet file."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from viz_encoder.errors import TraceError
from viz_encoder.whole_file import (
    kind_of,
    private_prefix,
    require_writable,
    shortened,
    write_beside,
)

RowTexts = tuple[tuple[str, ...], ...]  # of each row: its text, or both of a pair


@dataclass(frozen=True, eq=False)
class VectorRows:
    """Some texts and their vectors, in the order of their numbers in the corpus."""

    items: Int[np.ndarray, " row"]
    texts: RowTexts
    vectors: Float[np.ndarray, "row d_pooled"]  # float32

    @classmethod
    def of(
        cls, items: Sequence[int], texts: Iterable[tuple[str, ...]], vectors: np.ndarray
    ) -> "VectorRows":
        """Rows in any order."""
        numbers = np.array(items, dtype=np.int64)
        return cls(numbers, tuple(texts), vectors.astype(np.float32)).take(numbers.argsort())

    def take(self, rows: Int[np.ndarray, " kept"]) -> "VectorRows":
        """Select rows."""
        texts = tuple(self.texts[at] for at in rows.tolist())
        return VectorRows(self.items[rows], texts, self.vectors[rows])

    def merged(self, other: "VectorRows") -> "VectorRows":
        """Merge with other rows."""
        vectors = np.concatenate([self.vectors, other.vectors])
        items = np.concatenate([self.items, other.items])
        return VectorRows.of(items.tolist(), self.texts + other.texts, vectors)

    def named(self, names: Mapping[int, str]) -> "VectorRows":
        """Attach texts by item; items without one keep their own, if any."""
        texts = (
            found or tuple(filter(None, [names.get(item)]))
            for item, found in zip(self.items.tolist(), self.texts, strict=True)
        )
        return VectorRows(self.items, tuple(texts), self.vectors)

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name, exactly."""
        texts = np.frombuffer(json.dumps(self.texts).encode(), dtype=np.uint8)
        return {"row_items": self.items, "row_texts": texts, "row_vectors": self.vectors}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "VectorRows | None":
        """Rebuild from `arrays`; None if there are none."""
        if "row_items" not in arrays:
            return None
        texts = tuple(map(tuple, json.loads(arrays["row_texts"].tobytes())))
        return cls(arrays["row_items"], texts, arrays["row_vectors"])


def require_parquet(path: str | Path) -> None:
    """Refuse, before any work, a path at which the vectors cannot be written.

    Raises:
        SelectionError: it does not end in .parquet.
        TraceError: pyarrow is missing, or no file can be there.
    """
    kind_of(path, (".parquet",))
    require_writable(path)


class VectorFile:
    """A Parquet file of vectors: parts come in any order and wait on disk, never all in memory.

    Use it as a context; what waits is in a folder beside the file, and goes with the context.
    """

    def __init__(self, path: str | Path) -> None:
        """Refuse the path at once if it will not do; see `require_parquet`."""
        require_parquet(path)
        self.path = Path(path)
        self._first: list[int] = []  # the least number of each part

    def __enter__(self) -> "VectorFile":
        """Make the folder."""
        beside = self.path.resolve().parent
        try:
            self._folder = TemporaryDirectory(prefix=private_prefix(), dir=beside)
        except OSError as fault:
            raise TraceError(f"{shortened(beside)} cannot be written: {fault.strerror}.") from fault
        return self

    def __exit__(self, *_: object) -> None:
        """Remove it."""
        self._folder.cleanup()

    def keep(self, rows: VectorRows | None) -> None:
        """Put a part aside."""
        if rows is None or not len(rows.items):
            return
        try:
            np.savez(self._part(len(self._first)), allow_pickle=False, **rows.arrays())
        except OSError as fault:
            raise TraceError(f"{self.path} cannot be written: {fault.strerror}.") from fault
        self._first.append(int(rows.items[0]))

    def write(self, model: str, method: str, layer: int) -> int:
        """The file, its rows in the order of the items, and its size in bytes."""
        import pyarrow as pa  # only who asks for these files needs it
        from pyarrow import parquet

        kinds = {"item": pa.int64(), "text": pa.string(), "text_b": pa.string()}
        kinds |= {"method": pa.string(), "layer": pa.int32(), "vector": pa.list_(pa.float32())}
        schema = pa.schema(list(kinds.items()), metadata={"model": model})

        def write(beside: Path) -> None:
            with parquet.ParquetWriter(beside, schema) as file:
                for rows in in_order(self._parts()):
                    file.write_table(_table(rows, method, layer, schema))

        return write_beside(write, self.path)

    def _part(self, at: int) -> Path:
        return Path(self._folder.name, f"{at}.npz")

    def _parts(self) -> Iterator[VectorRows]:
        for at in sorted(range(len(self._first)), key=self._first.__getitem__):
            with np.load(self._part(at), allow_pickle=False) as arrays:
                rows = VectorRows.from_arrays(arrays)
            assert rows is not None
            yield rows


def in_order(parts: Iterable[VectorRows]) -> Iterator[VectorRows]:
    """The rows by number, from parts by their least number; parts may overlap.

    Only rows that a later part may still come before are held.
    """
    held: VectorRows | None = None
    for part in parts:
        if held is not None:
            ready = held.items < part.items[0]
            if ready.any():
                yield held.take(ready.nonzero()[0])
            part = held.take((~ready).nonzero()[0]).merged(part)
        held = part
    if held is not None:
        yield held


def pair_of(texts: tuple[str, ...]) -> tuple[str, str]:
    """A row's text and text B, "" where there is none."""
    first, second, *_ = (*texts, "", "")
    return first, second


def _table(rows: VectorRows, method: str, layer: int, schema: Any) -> Any:
    import pyarrow as pa

    n, width = rows.vectors.shape
    starts = pa.array(np.arange(n + 1) * width, pa.int32())
    first, second = zip(*map(pair_of, rows.texts), strict=True)
    columns = [
        pa.array(rows.items, pa.int64()),
        pa.array(first, pa.string()),
        pa.array(second, pa.string()),
        pa.array([method] * n, pa.string()),
        pa.array([layer] * n, pa.int32()),
        pa.ListArray.from_arrays(starts, pa.array(rows.vectors.ravel(), pa.float32())),
    ]
    return pa.table(columns, schema=schema)
