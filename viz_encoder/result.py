"""Shared behavior of results: convert to their main array or a table, and act as sequences."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from itertools import product
from typing import Any, ClassVar, TypeVar, get_args, overload

import numpy as np
from jaxtyping import Float

from viz_encoder.errors import VizEncoderError
from viz_encoder.shown import OneLine, one_line

Member = TypeVar("Member")
Columns = dict[str, list[Any]]
FEW, WIDE = 10, 40  # lines, and letters of a cell, that print() shows
LARGE = 10_000  # cells, of which no table is made to be printed
# A state is named by the blocks before it.
TABLE_NAMES = {"state": "blocks", "d_pooled": "dimension"}
FORMULA = tuple("=+-@\t\r＝＋－＠")  # a spreadsheet would run a cell that begins so


class TableResult(OneLine):
    """A frozen result that is a table: columns(), to_frame() for pandas, print() in short.

    `table` names the fields of its columns, arrays over the same axes. Where the last axis has
    columns of its own, they stand together: {("query", "key"): "at"}.
    """

    _table: ClassVar[Mapping[str | tuple[str, ...], str]] = {}

    def __init_subclass__(
        cls, table: Mapping[str | tuple[str, ...], str] | None = None, **named: Any
    ) -> None:
        """What a class says beside its bases."""
        super().__init_subclass__(**named)
        cls._table = cls._table if table is None else table

    def __str__(self) -> str:
        """The first lines of the table."""
        return short_table(self.columns())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython and notebooks show."""
        printer.text(str(self))

    def columns(self) -> Columns:
        """Each column by its name, plain lists of one length: a line for each cell.

        Cells are placed by the axes that the annotation of the first field names. An axis's own
        labels are taken, where a field holds them: those of "token" from `tokens`.
        """
        values: dict[str, np.ndarray] = {}
        for names, field in self._table.items():
            array = np.asarray(getattr(self, field))
            if isinstance(names, str):
                values[names] = array
            else:
                values |= dict(zip(names, np.moveaxis(array, -1, 0), strict=True))
        return long_columns(self._places(next(iter(values.values()))), values)

    def _places(self, array: np.ndarray) -> dict[str, Iterable[Any]]:
        first = next(iter(self._table.values()))
        annotation = next(field.type for field in fields(self) if field.name == first)  # type: ignore[arg-type]
        named = [each.removeprefix("*") for each in annotation.dim_str.split()]  # type: ignore[union-attr]
        named = [name for name in named if not name.isdigit()][-array.ndim :]
        axes = [TABLE_NAMES.get(name, name) for name in named]
        if len(set(axes)) < len(axes):  # "block block"
            axes = [f"{name}_{letter}" for name, letter in zip(axes, "abc", strict=False)]
        labels = map(self._labels, named, array.shape)
        return dict(zip(axes, labels, strict=True))

    def _labels(self, axis: str, size: int) -> Iterable[Any]:
        name = f"{axis}s"
        own: Any = None if name in self._table.values() else getattr(self, name, None)
        there = isinstance(own, tuple | np.ndarray) and len(own) == size
        return own if there else range(size)

    def to_frame(self) -> Any:
        """The table as a pandas.DataFrame.

        Raises:
            VizEncoderError: pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError as fault:
            raise VizEncoderError(
                "to_frame() needs pandas, which is not installed. Run: pip install pandas. Without "
                "it, columns() gives the same table as a dict of lists."
            ) from fault
        columns = self.columns().items()
        return pandas.DataFrame({name: _of_pandas(pandas, values) for name, values in columns})


class ArrayResult(TableResult):
    """A frozen result with one main array: np.asarray(result) gives it, columns() its cells."""

    _main: ClassVar[str]

    def __init_subclass__(cls, main: str = "", **named: Any) -> None:
        """`main` names the field; it is the table, where none is named."""
        super().__init_subclass__(**({"table": {main: main}} if main else {}) | named)
        cls._main = main or cls._main

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The main array, as numpy asks for it (numpy 2)."""
        return np.array(getattr(self, self._main), dtype=dtype, copy=copy)

    def __str__(self) -> str:
        """The first lines of the table; of a large one, its sizes."""
        return super().__str__() if np.size(getattr(self, self._main)) <= LARGE else repr(self)


class SeriesResult(TableResult, Sequence[Member]):
    """A frozen result that is a series of smaller ones: result[0], len(result), for … in result."""

    _items: ClassVar[str]
    _number: ClassVar[str]

    def __init_subclass__(cls, items: str = "", number: str = "", **named: Any) -> None:
        """`items` names the field that holds them, a tuple.

        Where they are tables, `number` names the column of the item's own number.
        """
        super().__init_subclass__(**named)
        cls._items, cls._number = items or cls._items, number

    def columns(self) -> Columns:
        """One line per item, its fields as columns; of items that are tables, all their lines."""
        if not self._number:
            return item_columns(get_args(type(self).__orig_bases__[0])[0], self)  # type: ignore[attr-defined]
        found: Columns = {}
        for at, one in enumerate(self):
            own = one.columns()  # type: ignore[attr-defined]
            numbers = {self._number: [at] * len(next(iter(own.values())))}
            for name, values in (numbers | own).items():
                found.setdefault(name, []).extend(values)
        return found

    @overload
    def __getitem__(self, at: int) -> Member: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Member, ...]: ...
    def __getitem__(self, at: int | slice) -> Member | tuple[Member, ...]:
        """One item, or a slice as a tuple."""
        return getattr(self, self._items)[at]

    def __len__(self) -> int:
        """Number of items."""
        return len(getattr(self, self._items))

    def __iter__(self) -> Iterator[Member]:
        """Each, in order."""
        return iter(getattr(self, self._items))


def item_columns(kind: Any, items: Iterable[Any]) -> Columns:
    """One line per item; the columns are the fields of their class, a dataclass or named tuple."""
    names = getattr(kind, "_fields", None) or [field.name for field in fields(kind)]
    rows = list(items)
    return {TABLE_NAMES.get(name, name): [getattr(row, name) for row in rows] for name in names}


def long_columns(axes: Mapping[str, Iterable[Any]], values: Mapping[str, np.ndarray]) -> Columns:
    """A line for each cell of arrays over the same axes, the last axis running fastest."""
    places = list(product(*(_plain(labels) for labels in axes.values())))
    columns = {name: [place[at] for place in places] for at, name in enumerate(axes)}
    return columns | {name: np.asarray(array).ravel().tolist() for name, array in values.items()}


def short_table(columns: Columns) -> str:
    """The first lines of a table as plain text, each column as wide as it needs."""
    n_lines = len(next(iter(columns.values()), []))
    told = {name: [name, *map(_short, values[:FEW])] for name, values in columns.items()}
    wide = [max(map(len, cells)) for cells in told.values()]
    rows = zip(*told.values(), strict=True)
    lines = ["  ".join(map(str.rjust, row, wide)).rstrip() for row in rows]
    more = [f"… {n_lines - FEW:,} more lines; to_frame() has all"] if n_lines > FEW else []
    return "\n".join([*lines, *more] if n_lines else ["nothing"])


def _short(value: Any) -> str:
    said = (
        f"{value:.4g}"
        if isinstance(value, float)
        else ""
        if value is None
        else one_line(str(value))
    )
    return said if len(said) <= WIDE else f"{said[: WIDE - 1]}…"


def _of_pandas(pandas: Any, values: list[Any]) -> Any:
    """Whole numbers of which some are missing stay whole."""
    known = {type(each) for each in values}
    return pandas.array(values, dtype="Int64") if known == {int, type(None)} else values


def csv_text(columns: Columns) -> str:
    """The table as CSV; a number that is NaN is an empty cell, and text is `harmless`."""
    rows = zip(*columns.values(), strict=True)
    return "".join(csv_line(map(_csv_cell, row)) for row in (columns, *rows))


def csv_line(cells: Iterable[Any]) -> str:
    """One line of a CSV."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def npz_file(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content of a compressed npz file, which numpy opens without pickle."""
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def finite(values: Any) -> Any:
    """Numbers for JSON, which has no NaN and no infinity: null in their place."""
    array = np.asarray(values)
    numbers = array.astype(object)
    numbers[~np.isfinite(array)] = None
    return numbers.tolist()


def harmless(text: str) -> str:
    """The text, with an apostrophe before what a spreadsheet would take for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def largest(values: Float[np.ndarray, "layer head"], n: int) -> tuple[tuple[int, int], ...]:
    """The n heads with the largest values, as (layer, head); those without one are left out."""
    order = np.argsort(-values, axis=None, kind="stable")  # NaN comes last
    known = order[: min(n, int(np.isfinite(values).sum()))]
    layers, heads = np.unravel_index(known, values.shape)
    return tuple(zip(layers.tolist(), heads.tolist(), strict=True))


def _csv_cell(value: Any) -> Any:
    if isinstance(value, str):
        return harmless(value)
    return value if value == value else ""


def _plain(labels: Any) -> list[Any]:
    return labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
