"""Bands, such as windows and causal masks, chunks and strides, and what goes wrong with them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.diagnose.hypothesis import Hypothesis
from viz_encoder.audit.diagnose.padding_masks import MOST_STEPS
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.model.masks import Valid

SHORT = 16  # up to so many tokens, every band is tried


def wrong_bands(pattern: Allowed, valid: Valid) -> Iterator[Hypothesis]:
    """The neighbors of a band: wider, narrower, moved, one-sided, both-sided."""
    meant = band_of(pattern)
    if meant is None:
        return
    (back, front), n_tokens = meant, pattern.shape[-1]
    whole = n_tokens - 1
    causal = front == 0 and back >= whole - 1  # nothing to its left
    real = valid[:, None, :]
    if causal:
        for keys in (real,) if bool(valid.all()) else (real, torch.ones_like(real)):
            yield Hypothesis("sees_next", _of_band(whole, 1, pattern) & keys)
            yield Hypothesis("misses_self", _of_band(whole, -1, pattern) & keys)
            yield Hypothesis("reversed", _of_band(0, whole, pattern) & keys)
            yield from _in_blocks(keys)
            yield from _in_tiles(keys)
            yield from _from_corner(keys)
    elif front == -1 and back >= whole - 1:
        yield Hypothesis("sees_self", _of_band(whole, 0, pattern) & real)
    elif min(back, front) < whole:
        for a, b, more in _unbounded(back, front, whole):
            yield Hypothesis("window_lost", _of_band(a, b, pattern) & real, more, more)
        for code, a, b in dict.fromkeys(_near_bands(back, front, whole)):
            more = _widths(code, (a, b), meant)
            yield Hypothesis(code, _of_band(a, b, pattern) & real, more, f"{a}, {b}")


def _in_blocks(keys: Allowed) -> Iterator[Hypothesis]:
    """Causal from block to block only: a token sees its own block to the end."""
    n_tokens = keys.shape[-1]
    for size in range(2, min(MOST_STEPS, n_tokens)):
        number = torch.arange(n_tokens, device=keys.device) // size
        more = f" (blocks of {size})"
        yield Hypothesis("blocks", (number[:, None] >= number) & keys, more, str(size))


def _in_tiles(keys: Allowed) -> Iterator[Hypothesis]:
    """Blocks of keys with a causal mask each, as if all, or none, stood on the diagonal."""
    for size in range(2, min(MOST_STEPS, keys.shape[-1])):
        place = torch.arange(keys.shape[-1], device=keys.device)
        within = place % size <= (place % size)[:, None]
        apart = place // size != (place // size)[:, None]
        for opened, words in ((within, "all of them alike"), (within | apart, "all others open")):
            more = f" (blocks of {size}, {words})"
            yield Hypothesis("tiles", opened & keys, more, more)


def _unbounded(back: int, front: int, whole: int) -> Iterator[tuple[int, int, str]]:
    """The band without one of its borders, or with a causal mask in its place."""
    if back < whole - 1:
        yield whole, front, ": all keys before the token are open"
    if 0 < front < whole - 1:
        yield back, whole, ": all keys after the token are open"
    if back > 0 and front > 0:
        yield whole, 0, ": a causal mask takes its place"


def _from_corner(keys: Allowed) -> Iterator[Hypothesis]:
    """Causal in parts, where each part's queries are counted from the first key of all."""
    place = torch.arange(keys.shape[-1], device=keys.device)
    for size in range(1, keys.shape[-1]):
        more = f" (in parts of {size})"
        yield Hypothesis("corner", (place <= (place % size)[:, None]) & keys, more, str(size))


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
    return (back, front) if bool((pairs == _of_band(back, front, seen)).all()) else None


def _of_band(back: int, front: int, like: Tensor) -> Tensor:
    """The band i − back … i + front."""
    ahead = _ahead(like)
    return (ahead >= -back) & (ahead <= front)


def _ahead(like: Tensor) -> Tensor:
    where = torch.arange(like.shape[-1], device=like.device)
    return (where[None, :] - where[:, None]).expand_as(like)


def without(pattern: Allowed, glob: Valid) -> Allowed:
    """The band that the other tokens have, for the global ones, too."""
    ahead, others = _ahead(pattern), ~(glob[:, :, None] | glob[:, None, :])
    near = ahead[pattern & others]
    back, front = (int(one) for one in near.aminmax()) if near.numel() else (0, 0)
    return (ahead >= back) & (ahead <= front)


LONGEST = 9  # how long a chunk, and how wide a stride, may be
MOST_BACK = 3
Pairs = Bool[Tensor, "query key"]


@dataclass(frozen=True)
class Chunks:
    """Whole chunks that a token sees: its own, so many before it (None: all), so many after."""

    size: int
    back: int | None
    front: int = 0
    causal: bool = False

    def pairs(self, n_tokens: int) -> Pairs:
        """Which tokens may see each other."""
        place = torch.arange(n_tokens)
        ahead = place // self.size - (place // self.size)[:, None]
        seen = ahead <= self.front
        seen = seen if self.back is None else seen & (ahead >= -self.back)
        return seen.tril() if self.causal else seen


class ChunkMistake(NamedTuple):
    """A cause, the pattern that it makes, and what to add to its sentence."""

    code: str
    pairs: Pairs
    more: str


def wrong_repeats(pattern: Pairs) -> Iterator[ChunkMistake]:
    """What else these chunks, or this stride, could be."""
    seen = set()
    for one in (*_wrong_chunks(pattern), *_wrong_strides(pattern)):
        key = one.pairs.numpy().tobytes(), one.more
        if key not in seen and not torch.equal(one.pairs, pattern):
            seen.add(key)
            yield one


def _wrong_chunks(pattern: Pairs) -> Iterator[ChunkMistake]:
    meant = _chunks_in(pattern)
    if meant is None:
        return
    n_tokens = len(pattern)
    for size in range(2, min(LONGEST, n_tokens - 1) + 1):
        told = f": {size} tokens long, where {meant.size} was meant"
        yield ChunkMistake("chunks", replace(meant, size=size).pairs(n_tokens), told)
    if meant.back == 0:
        return  # documents in a row, with causes of their own
    if not meant.causal:
        told = ": one chunk too many ahead is open"
        yield ChunkMistake("chunks", replace(meant, front=meant.front + 1).pairs(n_tokens), told)
    for back in range(MOST_BACK + 1):
        told = f": {back} before its own are open, where {_count(meant.back)} were meant"
        yield ChunkMistake("chunks", replace(meant, back=back).pairs(n_tokens), told)
    told = f": all before its own are open, where {_count(meant.back)} were meant"
    yield ChunkMistake("chunks", replace(meant, back=None).pairs(n_tokens), told)


def _count(back: int | None) -> str:
    return "all" if back is None else str(back)


def _chunks_in(pattern: Pairs) -> Chunks | None:
    """The chunks that have these pairs; the fewest, plainest first."""
    n_tokens = len(pattern)
    for size in range(2, min(LONGEST, n_tokens - 1) + 1):
        for back in (None, *range(MOST_BACK + 1)):
            for causal in (False,) if back is None else (False, True):
                one = Chunks(size, back, causal=causal)
                if torch.equal(one.pairs(n_tokens), pattern):
                    return one
    return None


def _wrong_strides(pattern: Pairs) -> Iterator[ChunkMistake]:
    """The same number of keys, or as far, at another step."""
    n_tokens = len(pattern)
    place = torch.arange(n_tokens)
    ahead = place - place[:, None]
    offsets = [int(one) for one in ahead[pattern].unique()]
    by_offset = torch.isin(ahead, torch.tensor(offsets, dtype=torch.long))
    if len(offsets) < 2 or not torch.equal(by_offset, pattern):
        return
    step = math.gcd(*offsets)
    back, front = min(offsets), max(offsets)
    is_cut_off = min(back, -front) <= 1 - n_tokens
    if is_cut_off or len(offsets) != (front - back) // max(step, 1) + 1:
        return
    for other in (one for one in range(1, LONGEST + 1) if one != step):
        told = f": every {_ordinal(other)} key, where every {_ordinal(step)} was meant"
        every = ahead % other == 0
        low, high = back // step * other, front // step * other
        yield ChunkMistake("stride", every & (ahead >= low) & (ahead <= high), told)
        yield ChunkMistake("stride", every & (ahead >= back) & (ahead <= front), told)


def _ordinal(number: int) -> str:
    return {1: "single", 2: "second", 3: "third"}.get(number, f"{number}th")
