"""Quantize: the maps of all heads in 8 bits, as finely as a file of limited size has room for."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8

from viz_encoder.analyses.survey import survey
from viz_encoder.trace import Trace

BLANK = 255  # a masked cell
WHOLE_SIDE = 256  # up to so many tokens, maps are kept cell by cell
SIDES = (64, 32)  # cells a side, where there are more tokens or no room for whole maps
LEVELS = (254, 126, 62, 30)  # steps from 0 to a map's largest weight; fewer compress better


@dataclass(frozen=True, eq=False)
class Packed:
    """All maps in one stream: layer after layer, head after head, row after row, a byte a cell.

    A byte b stands for b × top ÷ levels, top being its map's largest weight; that is off by at most
    top ÷ (2 × levels). 255 is a masked cell.
    """

    compressed: bytes  # zlib
    levels: int
    shapes: tuple[tuple[int, int, int], ...]  # of each layer: head, row, col
    tops: tuple[Float[np.ndarray, " head"], ...]


def pack(trace: Trace, fits: Callable[[Packed], bool]) -> Packed:
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


def _pack(maps: list[Float[np.ndarray, "head row col"]], levels: int) -> Packed:
    tops = tuple(np.nan_to_num(layer).max(axis=(1, 2)) for layer in maps)
    squeeze = zlib.compressobj()
    parts = [
        squeeze.compress(_bytes(*pair, levels).tobytes()) for pair in zip(maps, tops, strict=True)
    ]
    shapes = tuple(layer.shape for layer in maps)
    return Packed(b"".join([*parts, squeeze.flush()]), levels, shapes, tops)


def _bytes(
    maps: Float[np.ndarray, "head row col"], tops: Float[np.ndarray, " head"], levels: int
) -> UInt8[np.ndarray, "head row col"]:
    largest = np.where(tops > 0, tops, 1).astype(np.float64)
    shares = maps / largest[:, None, None]
    steps = np.rint(np.nan_to_num(shares) * levels)
    return np.where(np.isnan(shares), BLANK, steps).astype(np.uint8)
