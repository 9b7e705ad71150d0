"""Windows of a picture, plain or shifted (Swin), and what goes wrong with them, as masks.

A shifted layer rolls the picture, cuts it into windows and masks, within those at the border, what
the roll has brought together: regions of one window may not see each other.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from viz_encoder.audit.diagnose.bands import Pairs
from viz_encoder.audit.diagnose.hypothesis import Hypothesis, Meant, numbers_of, same

LARGEST = 256  # tokens up to which windows are looked for
WIDEST = 16
GridMap = Int[Tensor, "height width"]


@dataclass(frozen=True)
class Windows:
    """One layer of windows over an image of this many tokens."""

    height: int
    width: int
    size: int
    shift: int
    covered: bool = False  # shifted along an axis that one window covers, too
    regions: str = "both"  # "rows" or "columns" alone, "swapped", or "none"
    of_shift: int = 0  # the shift whose regions are masked in a layer that is not shifted
    late: bool = False  # padded to whole windows after the roll, not before it

    def pairs(self) -> Pairs:
        """Pairs of tokens in the same window."""
        places = torch.arange(self.height * self.width).view(self.height, self.width)
        steps = (self._rolled, self._padded) if self.late else (self._padded, self._rolled)
        for step in steps:
            places = step(places)
        tokens, regions = self._cut(places), self._regions(places)
        together = regions[:, :, None] == regions[:, None, :]
        query = tokens[:, :, None].expand_as(together)
        seen = torch.zeros(places.numel() + 1, places.numel() + 1, dtype=torch.bool)
        seen[query[together], query.mT[together]] = True  # padding, -1, is the last row and column
        return seen[: self.height * self.width, : self.height * self.width]

    @property
    def n_first(self) -> int:
        """Number of tokens in the first token's window, which the roll moves away."""
        axes = zip(self._sizes, self._shifts, (self.height, self.width), strict=True)
        return math.prod(min(n, shift or size) for size, shift, n in axes)

    @property
    def _sizes(self) -> tuple[int, int]:
        return min(self.size, self.height), min(self.size, self.width)

    @property
    def _shifts(self) -> tuple[int, int]:
        down, right = (
            self.shift if n > self.size or self.covered else 0 for n in (self.height, self.width)
        )
        return down, right

    def _padded(self, places: GridMap) -> GridMap:
        down, right = (-n % size for n, size in zip(places.shape, self._sizes, strict=True))
        return F.pad(places, (0, right, 0, down), value=-1)

    def _rolled(self, places: GridMap) -> GridMap:
        down, right = self._shifts
        return places.roll((-down, -right), dims=(0, 1))

    def _cut(self, places: GridMap) -> Int[Tensor, "window place"]:
        """The windows in order, and their places in order."""
        high, wide = self._sizes
        return places.unfold(0, high, high).unfold(1, wide, wide).reshape(-1, high * wide)

    def _regions(self, places: GridMap) -> Int[Tensor, "window place"]:
        """Region of each position in a window."""
        shifts = self._shifts if self.shift else (self.of_shift, self.of_shift)
        axes = [*zip(places.shape, self._sizes, shifts, strict=True)]
        axes = axes[::-1] if self.regions == "swapped" else axes
        rows, columns = (_parts(*axis) for axis in axes)
        rows = 0 * rows if self.regions in ("columns", "none") else rows
        columns = 0 * columns if self.regions in ("rows", "none") else columns
        return self._cut(rows[:, None] * 3 + columns)


def _parts(length: int, size: int, shift: int) -> Int[Tensor, " place"]:
    """Whole windows, what stays together in the last one, and what the roll brought there."""
    place = torch.arange(length)
    return (place >= length - size).long() + (place >= length - shift) if shift else 0 * place


def wrong_windows(m: Meant) -> Iterator[Hypothesis]:
    """Other layouts that these windows could have by mistake.

    Windows of tokens in a row may as well be documents, whose edges have causes of their own.
    """
    for meant in windows_in(m.pattern[0].cpu()):
        yield from _other_layouts(meant)


@lru_cache(maxsize=8)  # every batch and layer asks for the same ones
def _other_layouts(meant: Windows) -> tuple[Hypothesis, ...]:
    right, found = meant.pairs(), []
    in_rows = _are_in_rows(right)
    for code, windows, more in _mistakes(meant):
        pairs = windows.pairs()
        if not torch.equal(pairs, right) and not (in_rows and _are_in_rows(pairs)):
            found.append(Hypothesis(code, pairs, more, f"{windows}"))
    return tuple(found)


def windows_in(pairs: Pairs) -> tuple[Windows, ...]:
    """The layers of windows that have these pairs; none where they are no windows."""
    if len(pairs) > LARGEST or not _are_groups(pairs):
        return ()
    return _windows_in(len(pairs), int(pairs[0].sum()), pairs.numpy().tobytes())


@lru_cache(maxsize=64)  # every batch asks for the same pairs
def _windows_in(n_tokens: int, n_first: int, pairs: bytes) -> tuple[Windows, ...]:
    every = (one for height in range(1, n_tokens + 1) for one in _of_height(height, n_tokens))
    likely = (one for one in every if one.n_first == n_first)
    found = tuple(one for one in likely if one.pairs().numpy().tobytes() == pairs)
    # A larger, shifted window can give the same groups; the plain one is what was meant.
    return tuple(one for one in found if not one.shift) or found


def _of_height(height: int, n_tokens: int) -> Iterator[Windows]:
    width, rest = divmod(n_tokens, height)
    for size in () if rest else range(2, min(max(height, width), WIDEST) + 1):
        for shift in range(size):
            yield Windows(height, width, size, shift)
            if shift and size >= min(height, width):
                yield Windows(height, width, size, shift, covered=True)


def _are_groups(pairs: Pairs) -> bool:
    """Whether each token sees a group of tokens that all see that group, and there are several."""
    groups = pairs.float() @ pairs.float().mT
    whole = torch.equal(groups > 0, pairs) and torch.equal(pairs, pairs.mT)
    return whole and not bool(pairs.all()) and bool(pairs.diagonal().all())


def _are_in_rows(pairs: Pairs) -> bool:
    """Whether each group is of tokens that follow one another."""
    return torch.equal(same(numbers_of(pairs[None]))[0], pairs)


def _mistakes(meant: Windows) -> Iterator[tuple[str, Windows, str]]:
    """The cause, the windows that it makes, and what to add to its sentence."""
    size, shift = meant.size, meant.shift
    if shift:
        yield "windows_unmasked", replace(meant, regions="none"), ""
        if min(meant.height, meant.width) >= size:
            yield "windows_axes", replace(meant, regions="swapped"), " (height for width)"
        for one in ("rows", "columns"):
            yield "windows_axes", replace(meant, regions=one), " (along one axis only)"
    if shift and (meant.height % size or meant.width % size):
        yield "windows_late", replace(meant, late=True), ""
    for other in () if shift else range(1, size):
        yield "windows_shift_mask", replace(meant, of_shift=other), ""
    for other in (n for n in range(size) if n != shift):
        moved, told = replace(meant, shift=other), f": by {other}, where {shift} was meant"
        yield "windows_shift", moved, told
        yield "windows_shift", replace(moved, regions="none"), f"{told}, and not masked"
    widest = min(max(meant.height, meant.width), WIDEST)
    for other in (n for n in range(2, widest + 1) if n != size):
        told = f": {other} wide, where {size} was meant"
        for by in {min(shift, other - 1), other // 2} if shift else {0}:
            yield "windows_size", replace(meant, size=other, shift=by), told
