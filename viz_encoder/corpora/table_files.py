"""Table files: a head table as Parquet, npz, JSON or CSV; all but CSV are read back exactly."""

import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from viz_encoder.arguments import AnyPath, public
from viz_encoder.corpora.examples import Example, Examples
from viz_encoder.corpora.head_table import SUFFIXES, About, Failure, HeadTable
from viz_encoder.corpora.relations import Relations
from viz_encoder.corpora.spread import Spread, VectorSpread
from viz_encoder.errors import SelectionError, TraceError
from viz_encoder.result import csv_text
from viz_encoder.whole_file import kind_of, shortened, write_whole

KINDS = (".parquet", ".npz", ".json", ".csv")
FORMAT = 1
KEY = b"viz_encoder.head_table"  # key in a Parquet file's metadata
MAX_BYTES = 200_000_000
PER_HEAD = ("accuracy", "random")  # for relations
PER_DIMENSION = ("mean", "sd")  # for vectors


@public
def save_table(table: HeadTable, path: AnyPath) -> int:
    """See `HeadTable.save`."""
    kind = kind_of(path, KINDS)
    if kind == ".csv":
        return write_whole([csv_text(table.columns()).encode()], path)
    if kind == ".json":
        return write_whole([json.dumps(as_data(table), allow_nan=False).encode()], path)
    file = io.BytesIO()
    if kind == ".npz":
        rest = np.frombuffer(json.dumps(_rest(table)).encode(), dtype=np.uint8)
        np.savez_compressed(file, allow_pickle=False, about=rest, **table.arrays)
    else:
        _write_parquet(table, file)
    return write_whole([file.getvalue()], path)


@public
def load_table(path: AnyPath) -> HeadTable:
    """See `HeadTable.load`."""
    path = Path(path)
    kind = kind_of(path, KINDS)
    if kind == ".csv":
        raise SelectionError("A CSV holds means but no examples; open the .parquet, .npz or .json.")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise TraceError(
                f"{shortened(path)} is over {MAX_BYTES // 10**6} MB; no head table is that large."
            )
        return _read(path, kind)
    except OSError as fault:
        raise TraceError(f"{shortened(path)} cannot be read: {fault.strerror or fault}.") from fault
    except (ValueError, KeyError, TypeError, IndexError, EOFError, BadZipFile) as fault:
        raise TraceError(f"{shortened(path)} holds no head table: {fault}.") from fault


def _read(path: Path, kind: str) -> HeadTable:
    if kind == ".json":
        return from_data(json.loads(path.read_bytes()))
    if kind == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            return _made(json.loads(arrays["about"].tobytes()), arrays)
    from pyarrow import parquet

    read = parquet.read_table(path)
    rest = json.loads((read.schema.metadata or {})[KEY])
    shape = rest["shape"]
    columns = {
        name: np.array(read[name].to_numpy(), dtype=np.float64).reshape(shape)
        for name in read.column_names
        if name not in ("layer", "head")
    }
    return _made(rest, columns)


def as_data(table: HeadTable) -> dict[str, Any]:
    """The table as plain data; a value that is no number is None."""
    arrays = {name: list(map(_plain, array)) for name, array in table.arrays.items()}
    return _rest(table) | {"arrays": arrays}


def from_data(data: dict[str, Any]) -> HeadTable:
    """Rebuild from `as_data`.

    Raises:
        TraceError, KeyError, ValueError, TypeError: something else.
    """
    arrays = {name: np.array(rows, dtype=np.float64) for name, rows in data["arrays"].items()}
    return _made(data, arrays)


def _rest(table: HeadTable) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "about": asdict(table.about),
        "shape": [table.n_layers, table.n_heads],
        "counts": [table.n_texts, table.n_tokens, table.n_failed],
        "n_texts": {name: spread.n_texts for name, spread in table.statistics.items()},
        "examples": [asdict(one) for one in table.examples],
        "failures": [list(one) for one in table.failures],
        "distances": None if table.distances is None else _plain(table.distances.ravel()),
        "n_sampled": table.n_sampled,
        "relations": None if table.relations is None else _relations_data(table.relations),
        "vectors": None if table.vectors is None else _vectors_data(table.vectors),
    }


def _made(rest: dict[str, Any], arrays: Any) -> HeadTable:
    if rest.get("format") != FORMAT:
        raise TraceError(
            f"This table is of format {rest.get('format')!r}, and this version reads {FORMAT}; "
            "make it again."
        )
    statistics = {
        name: Spread(**{part: arrays[f"{name}{s}"] for part, s in SUFFIXES.items()}, n_texts=n)
        for name, n in rest["n_texts"].items()
    }
    if any(list(spread.mean.shape) != rest["shape"] for spread in statistics.values()):
        raise TraceError("The statistics are not of the shape that the table says; make it again.")
    n_texts, n_tokens, n_failed = rest["counts"]
    distances, sides = rest["distances"], rest["shape"]
    return HeadTable(
        About(**_tuples(rest["about"])),
        n_texts,
        n_tokens,
        statistics,
        Examples(tuple(Example(**_tuples(one)) for one in rest["examples"])),
        tuple(Failure(*one) for one in rest["failures"]),
        n_failed,
        None if distances is None else np.array(distances, dtype=np.float64).reshape(sides * 2),
        rest["n_sampled"],
        _relations_from(rest),
        _vectors_from(rest),
    )


def _relations_data(found: Relations) -> dict[str, Any]:
    arrays = {name: getattr(found, name).tolist() for name in PER_HEAD}
    return {name: getattr(found, name) for name in Relations.__dataclass_fields__} | arrays


def _relations_from(rest: dict[str, Any]) -> Relations | None:
    """The relations of a table; None where it has none, as those of older files."""
    data = rest.get("relations")
    if data is None:
        return None
    arrays = {name: np.array(data[name], dtype=np.float64) for name in PER_HEAD}
    found = Relations(**(_tuples(data) | arrays))
    n = len(found.relations)
    sides = {len(found.n_arcs), len(found.offsets), len(found.offset_accuracy)}
    if sides != {n} or any(list(a.shape) != [n, *rest["shape"]] for a in arrays.values()):
        raise TraceError("The relations are not of the shape that the table says; make it again.")
    return found


def _vectors_data(found: VectorSpread) -> dict[str, Any]:
    arrays = {name: _plain(getattr(found, name)) for name in PER_DIMENSION}
    cosine = _plain(np.array([found.mean_cosine]))[0]
    return {"pooling": found.pooling, "mean_cosine": cosine, "n_texts": found.n_texts} | arrays


def _vectors_from(rest: dict[str, Any]) -> VectorSpread | None:
    """The vectors of a table; None where it has none, as those of older files."""
    data = rest.get("vectors")
    if data is None:
        return None
    mean, sd = (np.array(data[name], dtype=np.float64) for name in PER_DIMENSION)
    cosine = float("nan") if data["mean_cosine"] is None else float(data["mean_cosine"])
    if mean.ndim != 1 or mean.shape != sd.shape:
        raise TraceError("The vectors are not of the shape that the table says; make it again.")
    return VectorSpread(str(data["pooling"]), mean, sd, cosine, int(data["n_texts"]))


def _plain(values: np.ndarray) -> list[float | None]:
    return [None if cell != cell else cell for cell in values.tolist()]


def _tuples(data: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}


def _write_parquet(table: HeadTable, file: io.BytesIO) -> None:
    """Write one row per head, as in `columns`; examples and the rest go into the metadata."""
    import pyarrow as pa  # only who asks for these files needs it
    from pyarrow import parquet

    written = pa.table(table.columns())
    metadata = {KEY: json.dumps(_rest(table))}
    parquet.write_table(written.replace_schema_metadata(metadata), file)
