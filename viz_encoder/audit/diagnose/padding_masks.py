"""Padding masks of other lengths or places, and documents with wrong edges."""

from collections.abc import Iterator

import torch
from jaxtyping import Int
from torch import Tensor

from viz_encoder.audit.diagnose.hypothesis import Hypothesis, Meant, numbers_of, same
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.model.masks import Valid

Counts = Int[Tensor, " batch"]
MOST_STEPS = 9  # how far a mask may be moved: as far as in another order, which may look the same
RATES = (2, 3, 4)  # of downsampling
MULTIPLES = (2, 4, 8, 16, 32, 64, 128)


def wrong_padding(m: Meant) -> Iterator[Hypothesis]:
    """The pattern with other keys; a token may see itself, whatever."""
    for one in () if bool(m.valid.all()) else _other_keys(m.valid):
        keep = one.opened[:, None]
        if not torch.equal(one.opened, m.valid):
            yield one._replace(opened=m.pattern & keep)
            yield one._replace(opened=m.pattern & (keep | m.itself))


def _other_keys(valid: Valid) -> Iterator[Hypothesis]:
    """Keys, "batch token", that are kept in place of the real ones."""
    n_samples, n_tokens = valid.shape
    counts, place = valid.sum(dim=1), torch.arange(n_tokens, device=valid.device)
    counted, last = place < counts[:, None], place >= n_tokens - counts[:, None]
    gaps = bool((valid.long().diff(dim=1).abs().sum(dim=1) > 1).any())  # padding in the middle
    for code, other, more, variant in _other_counts(counts, n_tokens):
        if not (gaps and torch.equal(other, counts)):
            yield Hypothesis(code, place < other[:, None], more, variant)
    for size in (one for one in range(2, n_tokens) if n_tokens % one == 0):
        # Cut into pieces as (token, piece), and not as (piece, token).
        keep, n_pieces = valid.view(n_samples, size, -1).mT.flatten(1), n_tokens // size
        more = f": (batch, {size}, {n_pieces}) for (batch, {n_pieces}, {size})"
        yield Hypothesis("reshaped", keep, more, str(size))
    for step in _steps(valid):
        for keep in _shifted(valid, step):
            if step > 1 and torch.equal(keep, place < counts[:, None] + step):
                continue  # lengths that are too large by as many look the same
            by = f"{abs(step)} positions" if abs(step) > 1 else "one position"
            more = f", {by} {'later' if step > 0 else 'earlier'}"
            yield Hypothesis("shifted", keep, more, str(step))
    if gaps:  # as of a text before a picture: two ways to lose that, and there is no other side
        for first in range(1, n_tokens):
            yield Hypothesis("joined", valid.roll(-first, dims=1), "", str(first))
        yield Hypothesis("counted", counted)
    else:
        for side, keep in (("right", counted), ("left", last), ("", valid.flip(1))):
            yield Hypothesis("side", keep, "", side)


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


def wrong_documents(m: Meant) -> Iterator[Hypothesis]:
    """Documents that see others, whose edges are off by one, or to which padding belongs."""
    if m.has_documents:
        if bool((m.causal & ~m.pattern).any()):
            yield from _joined(m)
        yield from moved_edges(m)
    yield from _numbered_padding(m)


def _joined(m: Meant) -> Iterator[Hypothesis]:
    """Documents that see all others, or those before them, or as far as a window goes."""
    for number, window in enumerate(_windows_over_ends(m)):
        told = ": the window runs over their ends"
        yield Hypothesis("documents", window & m.masked, told, f"{number}")
    if torch.equal(m.pattern, m.pattern & m.causal):
        yield Hypothesis("documents", m.causal & m.masked)
        yield Hypothesis("documents", m.causal)
    elif torch.equal(m.pattern, same(m.numbers)):
        yield Hypothesis("documents", m.masked)
        earlier = m.numbers[:, :, None] >= m.numbers[:, None, :]
        yield Hypothesis("documents", earlier & m.masked, ": each sees those before it")


def _windows_over_ends(m: Meant) -> Iterator[Tensor]:
    """Windows that are this pattern within its documents: the narrowest, and each wider one."""
    back, front = (int(end) for end in m.ahead[m.pattern.any(dim=0)].aminmax())
    for wider in range(len(m.place) + back - 1):
        near = (m.ahead >= back - wider) & (m.ahead <= (front + wider if front > 0 else front))
        if not torch.equal(near & same(m.numbers), m.pattern):
            return
        yield near


def moved_edges(m: Meant) -> Iterator[Hypothesis]:
    """Every edge off by one; padding is a document of its own, or is forbidden besides."""
    allowed, keys, everything = m.allowed, m.keys, torch.ones_like(m.keys)
    if not bool(m.valid.any()):
        return
    of_real = numbers_of(allowed & keys & keys.mT)
    padded = torch.where(m.valid, of_real, of_real.amax(dim=1, keepdim=True) + 1)
    for numbers, pairs, besides in (
        (m.numbers, m.pattern, m.masked),
        (padded, allowed & keys.mT, everything),
    ):
        if int(numbers[m.valid].max()) > 0 and bool(pairs.any()):  # more than one of real tokens
            for within in _within(m.ahead, numbers, pairs):
                for moved, words in _moved(numbers):
                    yield Hypothesis("document_edges", same(moved) & within & besides, words)


def _numbered_padding(m: Meant) -> Iterator[Hypothesis]:
    """Padding has the number of the first document, or of the last one."""
    one_way = torch.equal(m.pattern, m.pattern & m.causal)
    numbers = numbers_of(m.allowed & m.keys & m.keys.mT)
    first = numbers.masked_fill(~m.valid, numbers.shape[1]).amin(dim=1)
    last = numbers.masked_fill(~m.valid, -1).amax(dim=1)
    if torch.equal(first, last):
        return  # one document alone has no number: padding is not masked at all
    for number, words in ((first, "first"), (last, "last")):
        member = (numbers == number[:, None]) & m.valid
        opened = m.allowed | (member[:, :, None] & ~m.keys)
        opened = opened & m.causal if one_way else opened
        if not torch.equal(opened, m.allowed):
            yield Hypothesis("padding_numbered", opened, f": that of the {words} one")


def _within(ahead: Tensor, numbers: DocumentNumbers, pairs: Allowed) -> Iterator[Tensor]:
    """Patterns within documents, whatever their edges: all, earlier tokens, or a band."""
    real = pairs.any(dim=-1)
    back, front = (int(end) for end in ahead.expand_as(pairs)[pairs].aminmax())
    every = torch.ones_like(ahead).bool()
    for one in (every, every.tril(), (ahead >= back) & (ahead <= front)):
        if torch.equal((same(numbers) & one)[real], pairs[real]):
            yield one


def _moved(numbers: DocumentNumbers) -> Iterator[tuple[DocumentNumbers, str]]:
    """Shift edges by one token; a leftover token stands alone or joins its neighbor."""
    late, early = numbers.roll(1, dims=1), numbers.roll(-1, dims=1)
    for alone in (True, False):
        late[:, 0] = -1 if alone else numbers[:, 0]
        yield late.clone(), LATE
        early[:, -1] = -1 if alone else numbers[:, -1]
        yield early.clone(), EARLY
