"""Masks from files: .npy or .csv, read without numpy's loader, so that nothing in them can run."""

import csv
import io
import math
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np
from jaxtyping import Bool, Shaped
from torch import Tensor

from viz_encoder.audit.mask_input.conventions import Convention, to_bool
from viz_encoder.audit.mask_input.presets import MAX_TOKENS
from viz_encoder.errors import InputError, TooLong, UnsafeFile
from viz_encoder.whole_file import is_file, shortened

MAX_BYTES = 64 * 1024 * 1024


def read_masks(
    path: Path, convention: Convention | str, most: int = MAX_TOKENS, name: str = ""
) -> Bool[Tensor, "sample *axes"]:
    """The masks of a file, one a sample: "sample query key", or "sample token" of rows alone.

    Args:
        path: the file.
        convention: what its values mean; those by key have a row a sample.
        most: the most tokens a mask may have; reading a CSV stops there.
        name: of the file, in sentences; its own if not given.

    Raises:
        InputError: no such file, a shape that is none, or values that do not fit.
        TooLong: more than `most` or MAX_TOKENS tokens, or MAX_BYTES bytes.
        UnsafeFile: a .npy file that holds Python objects.
    """
    name = shortened(name or path.name)
    convention = Convention(convention)
    array = _array(path, name, most)
    each = _rows(array, name) if convention.by_key else _squares(array, name)
    try:
        return to_bool(each, convention)
    except InputError as fault:
        raise InputError(f"{name}: {fault}") from fault


def _array(path: Path, name: str, most: int) -> np.ndarray:
    if path.suffix.lower() not in (".npy", ".csv"):
        raise InputError(f"{name} is neither .npy nor .csv; save the mask as one of these.")
    if not is_file(path):
        raise InputError(f"There is no file {name}.")
    if (size := path.stat().st_size) > MAX_BYTES:
        raise TooLong(f"{name} has {size:,} bytes; a mask may have at most {MAX_BYTES:,}.")
    if path.suffix.lower() == ".csv":
        return _read_csv(path.read_bytes(), name, most)
    with path.open("rb") as file:
        return _read_npy(file, name)


def _read_csv(content: bytes, name: str, most: int) -> np.ndarray:
    """Cells of 0/1/True/False, or of floats; only True/False become bool."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text.") from error
    cells = csv.reader(_narrow(io.StringIO(text), name, most))
    try:
        rows = list(islice(filter(None, cells), most + 1))
    except csv.Error as error:
        raise InputError(f"{name} is not a CSV of numbers: {error}.") from error
    if len(rows) > most:
        raise TooLong(f"{name} has over {most:,} rows; this mask may have at most {most:,} tokens.")
    lengths = sorted({len(row) for row in rows})
    if not rows:
        raise InputError(f"{name} is empty; give a row of cells for each query.")
    if len(lengths) > 1:
        raise InputError(
            f"The rows of {name} have {lengths[0]} to {lengths[-1]} cells; all must have the "
            "same number."
        )
    words = {cell.strip().lower() for row in rows for cell in row}
    if words <= {"true", "false"}:
        return np.array([[cell.strip().lower() == "true" for cell in row] for row in rows])
    try:
        numbers = np.array([[float(cell) for cell in row] for row in rows])
    except ValueError as error:
        raise InputError(f"{name} holds a cell that is not a number: {error}.") from error
    return numbers.astype(np.int64) if words <= {"0", "1"} else numbers


def _narrow(lines: Iterable[str], name: str, most: int) -> Iterator[str]:
    """The lines, none of which holds more cells than a mask's row."""
    for line in lines:
        if line.count(",") >= most:
            raise TooLong(
                f"A row of {name} has over {most:,} cells; this mask may have at most {most:,} "
                "tokens."
            )
        yield line


def _read_npy(file: BinaryIO, name: str) -> np.ndarray:
    """The array, after its header was found harmless; numpy's own loader would allocate first."""
    try:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version}")
        one = version == (1, 0)
        read = np.lib.format.read_array_header_1_0 if one else np.lib.format.read_array_header_2_0
        shape, by_column, dtype = read(file)
    except (ValueError, EOFError, TypeError, SyntaxError, MemoryError) as error:
        raise InputError(f"{name} is not an array saved by numpy.") from error
    if dtype.hasobject:
        raise UnsafeFile(f"{name} holds Python objects, which could run code. Save numbers only.")
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise InputError(f"{name} holds {dtype}; a mask holds bool, whole numbers or floats.")
    _require_sizes(shape, name)
    content = file.read()
    if len(content) != math.prod(shape) * dtype.itemsize:
        raise InputError(f"{name} is cut short or too long for its shape {shape}.")
    array = np.frombuffer(content, dtype).reshape(shape, order="F" if by_column else "C")
    return np.ascontiguousarray(array.astype(dtype.newbyteorder("="))).reshape(shape)


def _require_sizes(shape: tuple[int, ...], name: str) -> None:
    if any(side > MAX_TOKENS for side in shape):
        raise TooLong(f"{name} has shape {shape}; a mask may have at most {MAX_TOKENS:,} tokens.")


def _squares(array: np.ndarray, name: str) -> Shaped[np.ndarray, "sample *axes"]:
    """The masks of (query, key), one row of tokens, (batch, query, key) or (batch, head, …).

    The heads of a sample must be alike: where a mask applies is said beside it, not in the file.
    """
    _require_sizes(array.shape, name)
    shape = array.shape
    if array.ndim == 4 and array.size:
        if not all(np.array_equal(array[:, 0], array[:, head]) for head in range(1, shape[1])):
            raise InputError(
                f"{name} has shape {shape}, and its {shape[1]} heads differ; save the mask of one "
                "head, and choose the heads that it applies in."
            )
        array = array[:, 0]
    if array.ndim == 2 and (shape[0] == shape[1] or 1 in shape):
        array = array[None] if shape[0] == shape[1] else array.reshape(1, -1)
    elif array.ndim == 1:
        array = array[None]
    elif array.ndim == 3 and array.shape[1] == 1:  # (batch, 1, 1, token), or without the heads
        array = array[:, 0]
    elif array.ndim != 3 or array.shape[1] != array.shape[2]:
        raise InputError(_no_mask(name, shape))
    if array.size == 0:
        raise InputError(_no_mask(name, shape))
    return array


def _no_mask(name: str, shape: tuple[int, ...]) -> str:
    return (
        f"{name} has shape {shape}; give a square (query, key), one row, one value per token, or a "
        "batch of them (batch, 1, query, key)."
    )


def _rows(array: np.ndarray, name: str) -> Shaped[np.ndarray, "sample token"]:
    """The rows of (batch, token) or (batch, 1, 1, token); one row is one sample."""
    _require_sizes(array.shape, name)
    shape = array.shape
    between = shape[1:-1] if array.ndim > 2 else ()
    if array.size == 0 or array.ndim not in (1, 2, 3, 4) or any(side != 1 for side in between):
        raise InputError(
            f"{name} has shape {shape}; this convention has one row per sample: (batch, token) or "
            "(batch, 1, 1, token)."
        )
    return array.reshape(-1 if array.ndim > 1 else 1, shape[-1])
