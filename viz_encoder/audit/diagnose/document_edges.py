"""Packed documents that begin a token too early or too late, as masks to compare."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from viz_encoder.audit.measure.reach import Allowed

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
