"""The cause of a wrong map, by what the map equals; from gradients only what it is consistent with.

A map of one layer tells inverted from transposed. After two layers the two reach the same tokens,
so a name taken from gradients is one of several.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.diagnose.causes import CAUSES
from viz_encoder.audit.measure.reach import Allowed, reach

Opened = Bool[Tensor, "batch head query key"]


class Diagnosis(NamedTuple):
    """A cause by its code, and what to say about it."""

    code: str = ""
    cause: str = ""
    cure: str = ""


def diagnose(code: str, *, more: str = "", sure: bool = True) -> Diagnosis:
    """The cause of that code in words."""
    cause, cure = CAUSES[code]
    return Diagnosis(code, f"{'' if sure else 'consistent with: '}{cause}{more}.", cure)


def diagnose_map(
    opened: Opened, allowed: Allowed, pattern: Allowed, valid: Bool[Tensor, "batch token"]
) -> Diagnosis:
    """What the opened pairs of one layer equal, on the rows of real tokens.

    `pattern` is what the intent would be without any padding.
    """
    rows = valid & allowed.any(dim=-1)
    found = [
        (code, candidate)
        for code, candidate in _candidates(allowed, pattern, valid)
        if _equal(opened, candidate[:, None], rows)
    ]
    codes = list(dict.fromkeys(code for code, _ in found))
    if len(codes) > 1:  # rows of padding may tell them apart
        whole = [c for c, one in found if torch.equal(opened, one[:, None].expand_as(opened))]
        codes = list(dict.fromkeys(whole)) or codes
    if codes:
        return diagnose(codes[0]) if len(codes) == 1 else _either(codes)
    return (
        _of_other_samples(opened, allowed, rows)
        or _band_like(opened, pattern, valid, rows)
        or _of_documents(opened, allowed, valid, rows)
    )


def _either(codes: Sequence[str]) -> Diagnosis:
    """One of several causes, which cannot be told apart."""
    first = diagnose(codes[0], sure=False)
    also = "; or ".join(CAUSES[code].sentence for code in codes)
    return Diagnosis(codes[0], f"consistent with: {also}.", first.cure)


def diagnose_gradient(
    depends: Bool[Tensor, "batch query key"],
    allowed: Sequence[Allowed],
    pattern: Allowed,
    valid: Bool[Tensor, "batch token"],
    n_layers: int,
) -> Diagnosis:
    """Which causes would make these tokens depend on each other after all layers."""
    if len(allowed) > 1:
        return Diagnosis()
    rows = valid & allowed[0].any(dim=-1)
    one_layer = [*_candidates(allowed[0], pattern, valid), *_bands(pattern, valid)]
    found = [
        code
        for code, candidate in one_layer
        if torch.equal(reach(candidate, n_layers)[-1][rows], depends[rows])
    ]
    return _either(list(dict.fromkeys(found))) if found else Diagnosis()


def _candidates(
    allowed: Allowed, pattern: Allowed, valid: Bool[Tensor, "batch token"]
) -> Iterator[tuple[str, Allowed]]:
    keys = valid[:, None, :].expand_as(allowed)
    yield "inverted", ~allowed
    if not bool(pattern.all()):
        yield "padding_ignored", pattern
    yield "ignored", torch.ones_like(allowed)
    yield "transposed", allowed.mT
    yield "pattern_ignored", keys
    yield "inverted", ~allowed & keys
    yield "inverted", ~pattern & keys
    causal = torch.ones_like(allowed).tril()
    yield "causal_added", allowed & causal
    if bool((pattern & ~causal).any()):
        yield "causal_added", causal
    yield "first_sample", allowed[:1].expand_as(allowed)


def _equal(opened: Tensor, candidate: Tensor, rows: Tensor) -> bool:
    """Whether they agree on those rows in every head; a row without keys may be anything."""
    candidate = candidate.expand_as(opened)
    judged = rows[:, None].expand(opened.shape[:3]) & candidate.any(dim=-1)
    return bool(judged.any()) and torch.equal(opened[judged], candidate[judged])


def _of_other_samples(opened: Opened, allowed: Allowed, rows: Tensor) -> Diagnosis | None:
    """Whether each sample and head uses the mask of some sample, if not its own."""
    n_samples, n_heads = opened.shape[:2]
    flat = torch.arange(n_samples * n_heads, device=opened.device) % n_samples
    repeated = allowed[flat].unflatten(0, (n_samples, n_heads))
    if _equal(opened, repeated, rows):
        return diagnose("repeat")
    uses = []
    for sample in range(n_samples):
        keep = rows[sample]
        same = [
            torch.equal(opened[sample, :, keep], one[keep].expand_as(opened[sample, :, keep]))
            for one in allowed
        ]
        if not any(same):
            return None
        uses.append(sample if same[sample] else same.index(True))
    pairs = ", ".join(f"sample {a} that of sample {b}" for a, b in enumerate(uses) if a != b)
    return diagnose("other_sample", more=f" ({pairs})") if pairs else None


def _band(pairs: Tensor) -> tuple[int, int] | None:
    """How far back and ahead the rows of a pattern reach, if it is a band: i − a … i + b."""
    n_tokens = pairs.shape[-1]
    where = torch.arange(n_tokens, device=pairs.device)
    ahead = (where[None, :] - where[:, None]).expand_as(pairs)
    if not bool(pairs.any()):
        return None
    back, front = -int(ahead[pairs].min()), int(ahead[pairs].max())
    band = (ahead >= -back) & (ahead <= front)
    return (back, front) if torch.equal(band, pairs) else None


def _of_band(back: int, front: int, like: Tensor) -> Tensor:
    where = torch.arange(like.shape[-1], device=like.device)
    ahead = where[None, :] - where[:, None]
    return ((ahead >= -back) & (ahead <= front)).expand_as(like)


def _of_documents(opened: Opened, allowed: Allowed, valid: Tensor, rows: Tensor) -> Diagnosis:
    """Causal or whole, where the intent is made of blocks."""
    causal, keys = torch.ones_like(allowed).tril(), valid[:, None, :]
    for candidate in (causal & keys, causal):
        if _equal(opened, candidate[:, None], rows):
            return diagnose("documents")
    return Diagnosis()


def _as_band(opened: Opened, pattern: Allowed, valid: Tensor, rows: Tensor) -> Diagnosis:
    """A band like the intended one, but wider, narrower or shifted."""
    meant = _band(pattern)
    seen = opened & rows[:, None, :, None]
    if meant is None or not bool(seen.any()):
        return Diagnosis()
    where = torch.arange(opened.shape[-1], device=opened.device)
    ahead = (where[None, :] - where[:, None]).expand_as(opened)
    back, front = -int(ahead[seen].min()), int(ahead[seen].max())
    keys = valid[:, None, :]
    for judged in (valid[:, None, None, :], torch.ones_like(valid)[:, None, None, :]):
        band = _of_band(back, front, opened) & judged
        if _equal(opened, band, rows & (band[:, 0] & keys).any(dim=-1)):
            return _diagnose_band((back, front), meant, opened.shape[-1])
    return Diagnosis()


def _band_like(opened: Opened, pattern: Allowed, valid: Tensor, rows: Tensor) -> Diagnosis | None:
    diagnosis = _as_band(opened, pattern, valid, rows)
    return diagnosis if diagnosis.code else None


def _diagnose_band(found: tuple[int, int], meant: tuple[int, int], n_tokens: int) -> Diagnosis:
    (back, front), (wide, ahead) = found, meant
    whole = n_tokens - 1
    if min(back, whole) >= whole - 2 and wide >= whole - 2:  # causal: nothing to its left
        if front == ahead + 1:
            return diagnose("sees_next")
        if front == ahead - 1:
            return diagnose("misses_self")
    if ahead == 0 and front > 0 and front == back:
        return diagnose(
            "window", more=f": {back} keys back and {front} ahead; meant were {wide} back"
        )
    if (back, front) == (wide, ahead):
        return Diagnosis()
    widths = f": it holds i − {back} … i + {front} where i − {wide} … i + {ahead} was meant"
    return diagnose("window", more=widths)


def _bands(pattern: Allowed, valid: Tensor) -> Iterator[tuple[str, Allowed]]:
    """The neighbors of a band, for names by gradients."""
    meant = _band(pattern)
    if meant is None:
        return
    (back, front), keys = meant, valid[:, None, :]
    whole = pattern.shape[-1] - 1
    if front == 0 and back >= whole - 1:
        yield "sees_next", _of_band(whole, 1, pattern) & keys
        yield "misses_self", _of_band(whole, -1, pattern) & keys
        return
    for more_back, more_front in ((1, 0), (-1, 0), (0, 1), (1, 1), (-1, -1), (0, back)):
        yield "window", _of_band(back + more_back, front + more_front, pattern) & keys
