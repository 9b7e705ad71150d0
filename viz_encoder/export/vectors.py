"""Pooled vectors of a set, and the table that compares poolings: CSV, npz, Arrow or Parquet."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from viz_encoder.analyses.collection import Collection, SeparationTable
from viz_encoder.result import csv_line, csv_text, harmless, npz_file
from viz_encoder.whole_file import kind_of, write_whole

KINDS = (".csv", ".npz", ".arrow", ".parquet")


def save_vectors(found: Collection, path: str | Path) -> int:
    """Write all vectors, without any rounding, and give the file's size in bytes.

    A file of that name is replaced only when the new one is whole.

    Args:
        found: the set.
        path: ends in .csv, .npz, .arrow or .parquet; the last two need pyarrow.

    Raises:
        SelectionError: no such kind of file.
        TraceError: pyarrow is missing, or the file cannot be written.
    """
    kind = kind_of(path, KINDS)
    if kind == ".csv":
        lines = vector_lines(found)
        return write_whole((line.encode("utf-8", "backslashreplace") for line in lines), path)
    if kind == ".npz":
        return write_whole([npz_file(vector_arrays(found))], path)
    return write_whole([_arrow_bytes(found, kind)], path)


def save_table(rows: SeparationTable, path: str | Path) -> int:
    """Write `Collection.table()` as CSV, and give the file's size in bytes.

    Raises:
        SelectionError: the name does not end in .csv.
        TraceError: the file cannot be written.
    """
    kind_of(path, (".csv",))
    return write_whole([csv_text(rows.columns()).encode()], path)


def vector_lines(found: Collection) -> Iterator[str]:
    """The lines of a CSV: one a method, state and item; narrower methods leave cells empty.

    Numbers are written so that reading them as float32 gives the same bits. A text that a
    spreadsheet would take for a formula begins with an apostrophe.
    """
    width = max(vectors.shape[2] for vectors in found.vectors.values())
    yield csv_line(["method", "blocks", "item", "text", "label", "model", *map(str, range(width))])
    for method, state, item, vector in _rows(found):
        of_item = found.items[item]
        named = [harmless(each) for each in (of_item.name, of_item.label, found.model)]
        cells = vector.astype(np.str_).tolist()
        empty = [""] * (width - len(cells))
        yield csv_line([method, str(state), str(item), *named, *cells, *empty])


def vector_arrays(found: Collection) -> dict[str, np.ndarray]:
    """Arrays by name for npz.

    Returns:
        vectors_mean, vectors_cls …: float32 "state item d_pooled" of each method.
        states: their numbers, 0 = embeddings; texts, labels: of the items; model, methods.
    """
    labels = [item.label for item in found.items]
    return {
        **{f"vectors_{name}": vectors for name, vectors in found.vectors.items()},
        "methods": np.array(found.methods, dtype=np.str_),
        "states": np.array(found.states),
        "texts": np.array(found.names, dtype=np.str_),
        "labels": np.array(labels, dtype=np.str_),
        "model": np.array(found.model),
    }


def _rows(found: Collection) -> Iterator[tuple[str, int, int, np.ndarray]]:
    for method in found.methods:
        for place, state in enumerate(found.states):
            for item, vector in enumerate(found.vectors[method][place]):
                yield method, state, item, vector


def _arrow_bytes(found: Collection, kind: str) -> bytes:
    import pyarrow as pa  # only who asks for these files needs it

    table, file = _arrow_table(found), io.BytesIO()
    if kind == ".parquet":
        from pyarrow import parquet

        parquet.write_table(table, file)
    else:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return file.getvalue()


def _arrow_table(found: Collection) -> Any:
    import pyarrow as pa

    rows = list(_rows(found))
    items = [found.items[item] for _, _, item, _ in rows]
    texts = [item.name.encode("utf-8", "backslashreplace").decode() for item in items]
    columns = {
        "method": pa.array([row[0] for row in rows], pa.string()),
        "blocks": pa.array([row[1] for row in rows], pa.int32()),
        "item": pa.array([row[2] for row in rows], pa.int32()),
        "text": pa.array(texts, pa.string()),
        "label": pa.array([item.label for item in items], pa.string()),
        "vector": pa.array([row[3] for row in rows], pa.list_(pa.float32())),
    }
    return pa.table(columns).replace_schema_metadata({"model": found.model})
