"""Quantize: the maps of all heads in 8 bits, as finely as a file of limited size has room for."""

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8, UInt16

from viz_encoder.analyses.overview import overview
from viz_encoder.analyses.survey import survey
from viz_encoder.export.tables import kept_queries
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import MapView

BLANK, FINE_BLANK = 255, 65_535  # a masked cell, in 8 and in 16 bits
STREAM_END = 16  # bytes that a stream may end with
WHOLE_SIDE = 256  # up to so many tokens, maps are kept cell by cell
SIDES = (64, 32)  # cells a side, where there are more tokens or no room for whole maps
LEVELS = (254, 126, 62, 30)  # steps from 0 to a map's largest weight; fewer compress better
FINE = 65_534  # steps in 16 bits


@dataclass(frozen=True, eq=False)
class PackedMaps:
    """All maps in one stream, one byte per cell, by layer, head and row.

    A byte b stands for b × top ÷ levels, top being its map's largest weight; that is off by at most
    top ÷ (2 × levels). 255 is a masked cell.
    """

    compressed: bytes  # zlib
    levels: int
    shapes: tuple[tuple[int, int, int], ...]  # per layer: head, row, col
    tops: tuple[Float[np.ndarray, " head"], ...]


def pack(trace: Trace, fits: Callable[[PackedMaps], bool]) -> PackedMaps:
    """The finest maps that fit: whole ones first, with fewer and fewer levels, then pooled ones.

    Where nothing fits, the coarsest are given.
    """
    n_tokens = max(max(layer.q.shape[1], layer.k.shape[1]) for layer in trace.layers)
    for side in (*([WHOLE_SIDE] if n_tokens <= WHOLE_SIDE else []), *SIDES):
        maps = [layer.thumbnails_max for layer in survey(trace, side)]
        for levels in LEVELS:
            packed = _pack(maps, levels)
            if fits(packed):
                return packed
    return packed


def _pack(maps: list[Float[np.ndarray, "head row col"]], levels: int) -> PackedMaps:
    tops = tuple(np.nan_to_num(layer).max(axis=(1, 2)) for layer in maps)
    squeeze = zlib.compressobj()
    parts = [
        squeeze.compress(_steps(*pair, levels).tobytes()) for pair in zip(maps, tops, strict=True)
    ]
    shapes = tuple(layer.shape for layer in maps)
    return PackedMaps(b"".join([*parts, squeeze.flush()]), levels, shapes, tops)


@dataclass(frozen=True, eq=False)
class Steps:
    """Some maps in one stream, one after another, a step a cell; `levels` steps are its `top`.

    The largest number of 8 or 16 bits (little-endian, where levels are over 255) is a masked cell.
    """

    compressed: bytes  # zlib
    levels: int
    shapes: list[tuple[int, int]]  # row, col
    tops: list[float]


def pack_maps(
    trace: Trace,
    view: MapView,
    places: Iterable[tuple[int, int]],
    side: int,
    levels: int,
    room: int,
) -> Steps:
    """The first maps, as many as have room; with more than `side` tokens, of blocks' largest.

    Args:
        trace: the run.
        view: which tokens are hidden or merged.
        places: layer and head of each map that is wanted.
        side: most cells a side.
        levels: steps from 0 to a map's largest weight, `FINE` or one of `LEVELS`.
        room: most bytes of the stream.
    """
    squeeze, every, size = zlib.compressobj(), slice(None), STREAM_END
    tokens = None if view.as_it_ran else kept_queries(trace, view)
    parts: list[bytes] = []
    shapes: list[tuple[int, int]] = []
    tops: list[float] = []
    for layer, head in places:
        tile = overview(trace, layer, head, rows=every, keys=every, size=side, tokens=tokens)
        cells = tile.values
        top = np.nan_to_num(cells).max()
        longer = squeeze.copy()
        steps = _steps(cells[None], top[None], levels).tobytes()
        part = longer.compress(steps) + longer.flush(zlib.Z_SYNC_FLUSH)
        size += len(part)
        if size > room:
            break
        squeeze = longer
        parts.append(part)
        shapes.append((cells.shape[0], cells.shape[1]))
        tops.append(float(top))
    return Steps(b"".join([*parts, squeeze.flush()]), levels, shapes, tops)


def _steps(
    maps: Float[np.ndarray, "head row col"], tops: Float[np.ndarray, " head"], levels: int
) -> UInt8[np.ndarray, "head row col"] | UInt16[np.ndarray, "head row col"]:
    largest = np.where(tops > 0, tops, 1).astype(np.float64)
    shares = maps / largest[:, None, None]
    steps = np.rint(np.nan_to_num(shares) * levels)
    if levels <= BLANK:
        return np.where(np.isnan(shares), BLANK, steps).astype(np.uint8)
    return np.where(np.isnan(shares), FINE_BLANK, steps).astype("<u2")
