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


def read_mask(
    path: Path, convention: Convention | str, most: int = MAX_TOKENS
) -> Bool[Tensor, "*axes"]:
    """A mask from a .npy or .csv file, True = may attend: "query key" or, of one row, " token".

    Args:
        path: the file.
        convention: what its values mean.
        most: the most tokens a mask may have; reading a CSV stops there.

    Raises:
        InputError: no such file, not a square or one row, or values that do not fit.
        TooLong: more than `most` or MAX_TOKENS tokens, or MAX_BYTES bytes.
        UnsafeFile: a .npy file that holds Python objects.
    """
    return to_bool(read_array(path, most), convention)


def read_array(path: Path, most: int = MAX_TOKENS) -> Shaped[np.ndarray, "*axes"]:
    """The numbers of a .npy or .csv file as they are: a square, or one row of tokens."""
    if path.suffix.lower() not in (".npy", ".csv"):
        raise InputError(f"{path.name} is neither .npy nor .csv; save the mask as one of these.")
    if not is_file(path):
        raise InputError(f"There is no file {shortened(path.name)}.")
    if (size := path.stat().st_size) > MAX_BYTES:
        raise TooLong(f"{path.name} has {size:,} bytes; a mask may have at most {MAX_BYTES:,}.")
    if path.suffix.lower() == ".csv":
        return _require_square(_read_csv(path.read_bytes(), path.name, most), path.name)
    with path.open("rb") as file:
        return _require_square(_read_npy(file, path.name), path.name)


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


def _require_square(array: np.ndarray, name: str) -> np.ndarray:
    """The array, if it is "query key" or, as one row or column, " token"."""
    _require_sizes(array.shape, name)
    while array.ndim > 2 and array.shape[0] == 1:  # one batch and one head, as models are given it
        array = array[0]
    if array.ndim == 2 and array.shape[0] != array.shape[1] and 1 in array.shape:
        array = array.reshape(-1)
    square = array.ndim == 2 and array.shape[0] == array.shape[1]
    if array.size == 0 or not (square or array.ndim == 1):
        raise InputError(
            f"{name} has shape {array.shape}; give a square (query, key) or one row, one value per "
            "token."
        )
    return array
