"""The padding mask of other lengths, or of other places: every way to get lengths wrong."""

from collections.abc import Iterator

import torch
from jaxtyping import Int
from torch import Tensor

from viz_encoder.model.masks import Valid

Counts = Int[Tensor, " batch"]
MOST_STEPS = 9  # how far a mask may be moved: as far as in another order, which may look the same
RATES = (2, 3, 4)  # of downsampling
MULTIPLES = (2, 4, 8, 16, 32, 64, 128)


def other_keys(valid: Valid) -> Iterator[tuple[str, Valid, str, str]]:
    """The code of each, the keys that it keeps, what to add to its sentence, and its variant."""
    if bool(valid.all()):
        return
    counts, place = valid.sum(dim=1), torch.arange(valid.shape[1], device=valid.device)
    gaps = bool((valid.long().diff(dim=1).abs().sum(dim=1) > 1).any())  # padding in the middle
    for code, other, more, variant in _other_counts(counts, valid.shape[1]):
        keep = place < other[:, None]
        if not torch.equal(keep, valid) and not (gaps and torch.equal(other, counts)):
            yield code, keep, more, variant
    yield from _reshaped(valid)
    for step in _steps(valid):
        for kept in _shifted(valid, step):
            if step > 1 and torch.equal(kept, place < counts[:, None] + step):
                continue  # lengths that are too large by as many look the same
            by = f"{abs(step)} positions" if abs(step) > 1 else "one position"
            yield "shifted", kept, f", {by} {'later' if step > 0 else 'earlier'}", str(step)
    if gaps:
        yield from _with_gaps(valid, place < counts[:, None])
        return  # there is no other side
    last = place >= valid.shape[1] - counts[:, None]
    for side, keep in (("right", place < counts[:, None]), ("left", last), ("", valid.flip(1))):
        if not torch.equal(keep, valid):
            yield "side", keep, "", side


def _with_gaps(valid: Valid, counted: Valid) -> Iterator[tuple[str, Valid, str, str]]:
    """Where padding stands between parts, as of a text before a picture: two ways to lose that."""
    for first in range(1, valid.shape[1]):
        keep = valid.roll(-first, dims=1)
        if not torch.equal(keep, valid):
            yield "joined", keep, "", str(first)
    yield "counted", counted, "", ""


def _reshaped(valid: Valid) -> Iterator[tuple[str, Valid, str, str]]:
    """Cut into pieces as (token, piece), and not as (piece, token)."""
    n_samples, n_tokens = valid.shape
    for size in (one for one in range(2, n_tokens) if n_tokens % one == 0):
        keep = valid.view(n_samples, size, -1).mT.reshape(n_samples, n_tokens)
        if not torch.equal(keep, valid):
            n_pieces = n_tokens // size
            more = f": (batch, {size}, {n_pieces}) for (batch, {n_pieces}, {size})"
            yield "reshaped", keep, more, str(size)


def _steps(valid: Valid) -> Iterator[int]:
    """How far a mask may be shifted: a token, registers, or all that is put before the text."""
    front = int(valid.all(dim=0).long().cumprod(dim=0).sum())
    for step in dict.fromkeys((*range(1, MOST_STEPS + 1), front)):
        if 0 < step < valid.shape[1] - 1:
            yield from (step, -step)


def _shifted(valid: Valid, step: int) -> Iterator[Valid]:
    """Moved by so many, with True or False at the end that this leaves free."""
    for edge in (True, False):
        kept = valid.roll(step, dims=1)
        kept[:, slice(step) if step > 0 else slice(step, None)] = edge
        yield kept


def _other_counts(counts: Counts, n_tokens: int) -> Iterator[tuple[str, Counts, str, str]]:
    for by, number in ((1, "one"), (2, "two")):
        yield "lengths", counts + by, f": {number} too many", f"{by}"
        yield "lengths", counts - by, f": {number} too few", f"{-by}"
    for other in _by_fractions(counts, n_tokens):
        changed = [*zip(counts.tolist(), other.tolist(), strict=True)]
        told = [f" (here {a} of {n_tokens} became {b})" for a, b in changed if a != b]
        yield "fraction", other, told[0] if told else "", ""
    for rate in RATES:
        if bool((counts * rate < n_tokens).any()):
            yield "not_thinned", counts * rate, f": {rate} times as many", f"{rate}"
    for multiple in MULTIPLES:
        up = -(-counts // multiple) * multiple
        for way, other in (("up", up), ("down", counts // multiple * multiple)):
            if bool((other > 0).all()):
                yield "rounded", other, f" {way} to a multiple of {multiple}", f"{way} {multiple}"


def _by_fractions(counts: Counts, n_tokens: int) -> Iterator[Counts]:
    """Lengths as shares of the longest, and back: cut off or rounded up, in each precision."""
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        whole = counts.to(dtype) / n_tokens * n_tokens
        yield whole.long()
        yield whole.ceil().long()
    single = (counts.float() / n_tokens).double() * n_tokens  # as int(float(share) * n_tokens) does
    yield single.long()
    yield (counts.float() * (1.0 / n_tokens) * n_tokens).long()
