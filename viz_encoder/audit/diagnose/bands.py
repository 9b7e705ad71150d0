"""Bands, i - a ... i + b, such as windows and causal masks, and what goes wrong with them."""

from collections.abc import Iterator

import torch
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
