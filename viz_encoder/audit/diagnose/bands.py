"""Bands, such as windows and causal masks, chunks and strides, and what goes wrong with them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.diagnose.hypothesis import Hypothesis, Meant
from viz_encoder.audit.diagnose.padding_masks import MOST_STEPS

SHORT = 16  # up to so many tokens, every band is tried
Pairs = Bool[Tensor, "query key"]


def wrong_bands(m: Meant) -> Iterator[Hypothesis]:
    """The neighbors of a band: wider, narrower, moved, one-sided, both-sided."""
    meant = band_of(m.pattern)
    if meant is None:
        return
    (back, front), whole = meant, m.pattern.shape[-1] - 1
    if front == 0 and back >= whole - 1:  # nothing to its left
        for keys in (m.keys,) if bool(m.valid.all()) else (m.keys, torch.ones_like(m.keys)):
            yield Hypothesis("sees_next", (m.ahead <= 1) & keys)
            yield Hypothesis("misses_self", (m.ahead <= -1) & keys)
            yield Hypothesis("reversed", (m.ahead >= 0) & keys)
            yield from (one.within(keys) for one in _in_parts(m.place))
    elif front == -1 and back >= whole - 1:
        yield Hypothesis("sees_self", m.causal & m.keys)
    elif min(back, front) < whole:
        for a, b, more in _unbounded(back, front, whole):
            yield Hypothesis("window_lost", _of_band(a, b, m.ahead) & m.keys, more)
        for code, a, b in dict.fromkeys(_near_bands(back, front, whole)):
            more = _widths(code, (a, b), meant)
            yield Hypothesis(code, _of_band(a, b, m.ahead) & m.keys, more, f"{a}, {b}")


def _in_parts(place: Tensor) -> Iterator[Hypothesis]:
    """Causal from block to block only, for each block of keys alike, or from the wrong corner."""
    for size in range(1, len(place)):
        block, within = place // size, place % size <= (place % size)[:, None]
        if 1 < size < MOST_STEPS:
            yield Hypothesis("blocks", block[:, None] >= block, f" (blocks of {size})")
            alike = f" (blocks of {size}, all of them alike)"
            yield Hypothesis("tiles", within, alike)
            apart = f" (blocks of {size}, all others open)"
            yield Hypothesis("tiles", within | (block != block[:, None]), apart)
        yield Hypothesis("corner", place <= (place % size)[:, None], f" (in parts of {size})")


def _unbounded(back: int, front: int, whole: int) -> Iterator[tuple[int, int, str]]:
    """The band without one of its borders, or with a causal mask in its place."""
    if back < whole - 1:
        yield whole, front, ": all keys before the token are open"
    if 0 < front < whole - 1:
        yield back, whole, ": all keys after the token are open"
    if back > 0 and front > 0:
        yield whole, 0, ": a causal mask takes its place"


def _near_bands(back: int, front: int, whole: int) -> Iterator[tuple[str, int, int]]:
    if back > 0 and front > 0:
        yield "one_sided", back, 0
        yield "one_sided", 0, front
    if front == 0 and back > 0:
        yield "reversed", 0, back
    yield "window_shifted", back - 1, front + 1
    yield "window_shifted", back + 1, front - 1
    taken = {(back, front), (back - 1, front + 1), (back + 1, front - 1), (back, back), (0, back)}
    taken |= {(back, 0), (0, front)} if back > 0 and front > 0 else set()
    widths = [(a, b) for a in _near(back, whole) for b in _near(front, whole) if a + b >= 0]
    for a, b in sorted(widths, key=lambda one: abs(one[0] - back) + abs(one[1] - front)):
        if (a, b) not in taken:
            yield "window", a, b


def _near(reach: int, whole: int) -> list[int]:
    """The reaches to try: all where there are few tokens."""
    if whole < SHORT:
        return list(range(-1, whole))
    return [
        one for one in {*range(reach - 2, reach + 3), 2 * reach, reach // 2} if -1 <= one < whole
    ]


def _widths(code: str, found: tuple[int, int], meant: tuple[int, int]) -> str:
    if code not in ("window", "window_shifted", "one_sided"):
        return ""
    (back, front), (wide, ahead) = found, meant
    holds, wanted = (f"{_place(-a)} … {_place(b)}" for a, b in ((back, front), (wide, ahead)))
    return f": it holds {holds} where {wanted} was meant"


def _place(ahead: int) -> str:
    return f"i {'+' if ahead > 0 else '−'} {abs(ahead)}" if ahead else "i"


def band_of(pairs: Tensor) -> tuple[int, int] | None:
    """Reach of a pattern's rows back and ahead, if it is a band: i − a … i + b."""
    seen = pairs.reshape(-1, *pairs.shape[-2:]).any(dim=0)
    if not bool(seen.any()):
        return None
    ahead = _ahead(seen)[seen]
    back, front = -int(ahead.min()), int(ahead.max())
    return (back, front) if bool((pairs == _of_band(back, front, _ahead(seen))).all()) else None


def _of_band(back: int, front: int, ahead: Tensor) -> Tensor:
    """The band i − back … i + front."""
    return (ahead >= -back) & (ahead <= front)


def _ahead(like: Tensor) -> Tensor:
    where = torch.arange(like.shape[-1], device=like.device)
    return where - where[:, None]


def without(m: Meant, glob: Tensor) -> Tensor:
    """The band that the other tokens have, for the global ones, too."""
    others = m.pattern & ~(glob[:, :, None] | glob[:, None, :])
    near = m.ahead.expand_as(others)[others]
    back, front = (int(one) for one in near.aminmax()) if near.numel() else (0, 0)
    return _of_band(-back, front, m.ahead)


LONGEST = 9  # how long a chunk, and how wide a stride, may be
MOST_BACK = 3


@dataclass(frozen=True)
class Chunks:
    """Whole chunks that a token sees: its own, so many before it (None: all), so many after."""

    size: int
    back: int | None
    front: int = 0
    causal: bool = False

    def pairs(self, place: Tensor) -> Pairs:
        """Which tokens may see each other."""
        ahead = place // self.size - (place // self.size)[:, None]
        seen = ahead <= self.front
        seen = seen if self.back is None else seen & (ahead >= -self.back)
        return seen.tril() if self.causal else seen


def wrong_repeats(m: Meant) -> Iterator[Hypothesis]:
    """What else these chunks, or this stride, could be."""
    pattern = m.pattern[0].cpu()  # small steps, many of them
    for one in (*_wrong_chunks(pattern, m.place.cpu()), *_wrong_strides(pattern, m.ahead.cpu())):
        if not torch.equal(one.opened, pattern):
            yield one


def _wrong_chunks(pattern: Pairs, place: Tensor) -> Iterator[Hypothesis]:
    meant = _chunks_in(pattern, place)
    if meant is None:
        return
    for size in range(2, min(LONGEST, len(place) - 1) + 1):
        told = f": {size} tokens long, where {meant.size} was meant"
        yield Hypothesis("chunks", replace(meant, size=size).pairs(place), told)
    if meant.back == 0:
        return  # documents in a row, with causes of their own
    if not meant.causal:
        told = ": one chunk too many ahead is open"
        yield Hypothesis("chunks", replace(meant, front=meant.front + 1).pairs(place), told)
    wanted = "all" if meant.back is None else meant.back
    for back in (*range(MOST_BACK + 1), None):
        count = "all" if back is None else back
        told = f": {count} before its own are open, where {wanted} were meant"
        yield Hypothesis("chunks", replace(meant, back=back).pairs(place), told)


def _chunks_in(pattern: Pairs, place: Tensor) -> Chunks | None:
    """The chunks that have these pairs; the fewest, plainest first."""
    for size in range(2, min(LONGEST, len(place) - 1) + 1):
        for back in (None, *range(MOST_BACK + 1)):
            for causal in (False,) if back is None else (False, True):
                one = Chunks(size, back, causal=causal)
                if torch.equal(one.pairs(place), pattern):
                    return one
    return None


def _wrong_strides(pattern: Pairs, ahead: Tensor) -> Iterator[Hypothesis]:
    """The same number of keys, or as far, at another step."""
    n_tokens, offsets = len(pattern), ahead[pattern].unique()
    if len(offsets) < 2 or not torch.equal(torch.isin(ahead, offsets), pattern):
        return
    step, back, front = math.gcd(*offsets.tolist()), int(offsets[0]), int(offsets[-1])
    is_cut_off = min(back, -front) <= 1 - n_tokens
    if is_cut_off or len(offsets) != (front - back) // max(step, 1) + 1:
        return
    for other in (one for one in range(1, LONGEST + 1) if one != step):
        told = f": every {_ordinal(other)} key, where every {_ordinal(step)} was meant"
        for low, high in ((back // step * other, front // step * other), (back, front)):
            every = (ahead % other == 0) & (ahead >= low) & (ahead <= high)
            yield Hypothesis("stride", every, told)


def _ordinal(number: int) -> str:
    return {1: "single", 2: "second", 3: "third"}.get(number, f"{number}th")
