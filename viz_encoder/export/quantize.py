"""Quantize: maps in 8 or 16 bits a weight, as many as a file of limited size has room for."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8, UInt16

BLANK, FINE_BLANK = 255, 65_535  # a masked cell, in 8 and in 16 bits
STREAM_END = 16  # bytes that a stream may end with
LEVELS = (254, 126, 62, 30)  # steps from 0 to a map's largest weight; fewer compress better
FINE = 65_534  # steps in 16 bits


@dataclass(frozen=True, eq=False)
class Steps:
    """Some maps in one stream, one after another, a step a cell; `levels` steps are its `top`.

    A step s stands for s × top ÷ levels, which is off by at most top ÷ (2 × levels). The largest
    number of 8 or 16 bits (little-endian, where levels are over 255) is a masked cell.
    """

    compressed: bytes  # zlib
    levels: int
    shapes: list[tuple[int, int]]  # row, col
    tops: list[float]


def pack(maps: Iterable[Float[np.ndarray, "row col"]], levels: int, room: float = np.inf) -> Steps:
    """The first maps, as many as fit into so many bytes, which are then taken from the iterable.

    Args:
        maps: weights; NaN = masked.
        levels: steps from 0 to a map's largest weight, `FINE` or one of `LEVELS`.
        room: most bytes of the stream.
    """
    squeeze, size = zlib.compressobj(), STREAM_END
    parts: list[bytes] = []
    shapes: list[tuple[int, int]] = []
    tops: list[float] = []
    for cells in maps:
        top = float(np.nan_to_num(cells).max())
        longer = squeeze.copy()
        steps = longer.compress(_steps(cells, top, levels).tobytes())
        part = steps + longer.flush(zlib.Z_SYNC_FLUSH)
        size += len(part)
        if size > room:
            break
        squeeze = longer
        parts.append(part)
        shapes.append((cells.shape[0], cells.shape[1]))
        tops.append(top)
    return Steps(b"".join([*parts, squeeze.flush()]), levels, shapes, tops)


def _steps(
    cells: Float[np.ndarray, "row col"], top: float, levels: int
) -> UInt8[np.ndarray, "row col"] | UInt16[np.ndarray, "row col"]:
    shares = cells / np.float64(top if top > 0 else 1)
    steps = np.rint(np.nan_to_num(shares) * levels)
    kind, blank = (np.uint8, BLANK) if levels <= BLANK else (np.dtype("<u2"), FINE_BLANK)
    return np.where(np.isnan(shares), blank, steps).astype(kind)
