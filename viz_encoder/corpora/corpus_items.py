"""Corpus items: texts, pairs or pictures one after the other, from files, folders or iterables."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sized
from pathlib import Path
from typing import Any, NamedTuple

from viz_encoder.corpora.treebank import read_treebank
from viz_encoder.errors import InputError
from viz_encoder.inputs.items import Item, pictures_of
from viz_encoder.whole_file import shortened

MOST_AT_ONCE = 50_000_000  # bytes of a file that is read whole, so that its length is known
CSV_KINDS, JSON_KINDS = (".csv", ".tsv"), (".jsonl", ".ndjson")
TREES = ".conllu"
LONGEST_CELL = 10_000_000  # characters; csv's own limit is 131,072


class Unreadable(NamedTuple):
    """A line that holds no item; it is listed as failed."""

    reason: str


class TextColumns(NamedTuple):
    """Columns that hold a row's text, and text B for pairs."""

    text: str = "text"
    second: str | None = None

    def of(self, row: Mapping[str, Any]) -> Any:
        """A row's text, pair or picture."""
        missing = [name for name in self if name is not None and row.get(name) is None]
        if missing:
            return Unreadable(f"It has no {missing[0]!r}.")
        if self.second is None:
            return row[self.text]
        return row[self.text], row[self.second]


class CorpusItems:
    """The items in their order; `total` is None where it is not known before the end."""

    def __init__(self, given: Any, columns: TextColumns) -> None:
        """Large files are read lazily."""
        self.source, self.columns = "", columns
        self._items: Iterable[Any]
        if isinstance(given, str | Path):
            path = _existing(given)
            self.source = str(path)
            self._items = _of_path(path, columns)
        elif (
            isinstance(given, Iterable)
            and not isinstance(given, Mapping | bytes)
            and getattr(given, "ndim", True)  # an array of no axis is no list
        ):
            self._items = given
        else:
            raise InputError(
                f"items is {type(given).__name__}; give a path of a .txt, .csv, .jsonl or .parquet "
                "file or of a folder of pictures, or an iterable of texts."
            )
        self.total = len(self._items) if isinstance(self._items, Sized) else None

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the encoder's inputs."""
        return map(self._source_of, self._items)

    def _source_of(self, given: Any) -> Any:
        if isinstance(given, Item):
            return given.source
        return self.columns.of(given) if isinstance(given, Mapping) else given


def _existing(given: str | Path) -> Path:
    path = Path(given)
    try:
        there = path.exists()
    except (OSError, ValueError):
        there = False
    if not there:
        raise InputError(
            f"There is no file or folder {shortened(path)!r}. To give texts themselves, pass a "
            'list: ["text one", "text two"].'
        )
    return path


def _of_path(path: Path, columns: TextColumns) -> Iterable[Any]:
    if path.is_dir():
        found = [item.source for item in pictures_of(path)]
        if not found:
            raise InputError(f"The folder {shortened(path)} holds no pictures.")
        return found
    if not path.is_file():
        raise InputError(f"{shortened(path)} is not a regular file; give one, or a folder.")
    kind = path.suffix.lower()
    if kind == ".parquet":
        return _ParquetRows(path, columns)
    if kind == TREES:
        return [sentence.text for sentence in read_treebank(path)]
    rows = _csv_rows if kind in CSV_KINDS else _json_rows if kind in JSON_KINDS else _lines
    if path.stat().st_size <= MOST_AT_ONCE:
        return list(rows(path, columns))
    return rows(path, columns)


def _decoded(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from file
    except UnicodeDecodeError as fault:
        raise InputError(f"{path.name} is not UTF-8; save it as UTF-8 first.") from fault
    except OSError as fault:
        raise InputError(f"{shortened(path)} cannot be read: {fault.strerror}.") from fault


def _lines(path: Path, columns: TextColumns) -> Iterator[str]:
    """A text a line; empty lines are left out."""
    return (line.strip() for line in _decoded(path) if line.strip())


def _json_rows(path: Path, columns: TextColumns) -> Iterator[Any]:
    """A text, or an object with the columns, a line."""
    for line in _decoded(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as fault:
            yield Unreadable(f"Its line is not JSON: {fault}.")
            continue
        if isinstance(row, Mapping):
            row = columns.of(row)
        yield row if isinstance(row, str | tuple | Unreadable) else Unreadable("It is not a text.")


def column_names(header: str) -> tuple[list[str], str]:
    """The names in the first line of a table, and the sign between its cells."""
    delimiter = max(",;\t", key=header.count)
    try:
        names = next(csv.reader([header], delimiter=delimiter), [])
    except csv.Error as fault:
        raise InputError(f"The first line of the CSV cannot be read: {fault}.") from fault
    return [name.strip() for name in names], delimiter


def _csv_rows(path: Path, columns: TextColumns) -> Iterator[Any]:
    lines = _decoded(path)
    names, delimiter = column_names(next(lines, ""))
    missing = [name for name in columns if name is not None and name not in names]
    if missing:
        said = ", ".join(map(repr, names[:20])) or "nothing"
        raise InputError(
            f"The first line of {path.name} names {said}, and no column {missing[0]!r}; name the "
            "column of the texts with column=, or --column."
        )
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for row in _with_long_cells(reader):
            if any(cell.strip() for cell in row):
                yield columns.of(dict(zip(names, row, strict=False)))
    except csv.Error as fault:
        raise InputError(
            f"Line {reader.line_num + 1} of the CSV cannot be read: {fault}."
        ) from fault


def _with_long_cells(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Its rows, each read with room for long cells: the limit is one of the whole process."""
    while True:
        usual = csv.field_size_limit()
        csv.field_size_limit(max(usual, LONGEST_CELL))
        try:
            row = next(reader, None)
        finally:
            csv.field_size_limit(usual)
        if row is None:
            return
        yield row


class _ParquetRows:
    """Rows of a Parquet file, some thousands at a time."""

    def __init__(self, path: Path, columns: TextColumns) -> None:
        try:
            from pyarrow import ArrowException, parquet
        except ImportError as fault:
            raise InputError(
                ".parquet files need pyarrow, which is not installed. Run: pip install pyarrow."
            ) from fault
        self._columns = columns
        self._names = [name for name in columns if name is not None]
        try:
            self._file = parquet.ParquetFile(path)
        except (ArrowException, OSError) as fault:
            raise InputError(f"{path.name} is not a Parquet file: {fault}.") from fault
        missing = [name for name in self._names if name not in self._file.schema_arrow.names]
        if missing:
            said = ", ".join(map(repr, self._file.schema_arrow.names[:20]))
            raise InputError(
                f"{path.name} has no column {missing[0]!r}; its columns are {said}. Name the "
                "column of the texts with column=, or --column."
            )

    def __len__(self) -> int:
        return int(self._file.metadata.num_rows)

    def __iter__(self) -> Iterator[Any]:
        for batch in self._file.iter_batches(columns=self._names):
            for row in batch.to_pylist():
                yield self._columns.of(row)
