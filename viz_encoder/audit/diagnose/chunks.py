"""Chunks and strides: patterns that repeat along the tokens, and what goes wrong with them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

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
