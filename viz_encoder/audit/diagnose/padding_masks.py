"""Padding masks of other lengths or places, and documents with wrong edges."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from viz_encoder.audit.measure.reach import Allowed
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


EARLY = ": the last token of each is given to the one after it"
LATE = ": the first token of each is given to the one before it"
DocumentNumbers = Int[Tensor, "batch token"]


def numbers_of(pairs: Allowed) -> DocumentNumbers:
    """The document of each token: no pair leads from one into another."""
    n_tokens = pairs.shape[-1]
    where = torch.arange(n_tokens, device=pairs.device)
    linked = pairs | pairs.mT | (where[:, None] == where)
    farthest = (linked * where).amax(dim=-1).cummax(dim=-1).values
    begins = torch.zeros_like(farthest)
    begins[:, 1:] = farthest[:, :-1] < where[1:]
    return begins.cumsum(dim=-1)


def moved_edges(
    allowed: Allowed, pattern: Allowed, valid: Bool[Tensor, "batch token"]
) -> Iterator[tuple[Allowed, str]]:
    """Masks with every edge off by one, each with its wording.

    Padding is a document of its own, or is forbidden besides, as it is in `allowed`.
    """
    keys = valid[:, None, :]
    masked = not torch.equal(allowed, pattern)
    of_real = numbers_of(allowed & keys & keys.mT)
    if not bool(valid.any()):
        return
    padded = torch.where(valid, of_real, of_real.amax(dim=1, keepdim=True) + 1)
    for numbers, pairs, besides in (
        (numbers_of(pattern), pattern, keys if masked else torch.ones_like(keys)),
        (padded, allowed & keys.mT, torch.ones_like(keys)),
    ):
        if int(numbers[valid].max()) > 0 and bool(pairs.any()):  # more than one of real tokens
            for within in _within(numbers, pairs):
                for moved, words in _moved(numbers):
                    yield _same(moved) & within & besides, words


def numbered_padding(
    allowed: Allowed, pattern: Allowed, valid: Bool[Tensor, "batch token"]
) -> Iterator[tuple[Allowed, str]]:
    """Masks where padding has the number of the first document, or of the last one, each worded."""
    keys, causal = valid[:, None, :], torch.ones_like(pattern).tril()
    one_way = torch.equal(pattern, pattern & causal)
    numbers = numbers_of(allowed & keys & keys.mT)
    first = numbers.masked_fill(~valid, numbers.shape[1]).amin(dim=1)
    last = numbers.masked_fill(~valid, -1).amax(dim=1)
    if torch.equal(first, last):
        return  # one document alone has no number: padding is not masked at all
    for number, words in ((first, "first"), (last, "last")):
        member = (numbers == number[:, None]) & valid
        opened = allowed | (member[:, :, None] & ~keys)
        opened = opened & causal if one_way else opened
        if not torch.equal(opened, allowed):
            yield opened, f": that of the {words} one"


def _within(numbers: DocumentNumbers, pairs: Allowed) -> Iterator[Allowed]:
    """Patterns within documents, whatever their edges: all, earlier tokens, or a band."""
    where = torch.arange(pairs.shape[-1], device=pairs.device)
    ahead = (where[None, :] - where[:, None]).expand_as(pairs)
    real = pairs.any(dim=-1)
    back, front = (int(end) for end in ahead[pairs].aminmax())
    every = torch.ones_like(pairs)
    for one in (every, every.tril(), (ahead >= back) & (ahead <= front)):
        if torch.equal((_same(numbers) & one)[real], pairs[real]):
            yield one


def _same(numbers: DocumentNumbers) -> Allowed:
    return numbers[:, :, None] == numbers[:, None, :]


def _moved(numbers: DocumentNumbers) -> Iterator[tuple[DocumentNumbers, str]]:
    """Shift edges by one token; a leftover token stands alone or joins its neighbor."""
    late, early = numbers.roll(1, dims=1), numbers.roll(-1, dims=1)
    for alone in (True, False):
        late[:, 0] = -1 if alone else numbers[:, 0]
        yield late.clone(), LATE
        early[:, -1] = -1 if alone else numbers[:, -1]
        yield early.clone(), EARLY
