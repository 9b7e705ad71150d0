"""The cause of a wrong map, by what the map equals; from gradients only what it is consistent with.

A map of one layer tells inverted from transposed. After two layers the two reach the same tokens,
so a name taken from gradients is one of several.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.diagnose.causes import CAUSES
from viz_encoder.audit.diagnose.hypotheses import Heads, hypotheses
from viz_encoder.audit.measure.reach import Allowed, must_know

Opened = Bool[Tensor, "batch head query key"]


class Diagnosis(NamedTuple):
    """A cause by its code, and what to say about it."""

    code: str = ""
    cause: str = ""
    cure: str = ""


class Seen(NamedTuple):
    """What one layer had open on one batch, beside what it was meant to have."""

    opened: Opened
    allowed: Allowed
    pattern: Allowed  # what the intent would be without any padding
    valid: Bool[Tensor, "batch token"]
    with_itself: bool = False  # each token knows of itself, too, by the residual

    @property
    def meant(self) -> Allowed:
        """What was to be open."""
        return self.residual(self.allowed)

    def residual(self, pairs: Tensor) -> Tensor:
        """With each token itself, where that is part of what was seen."""
        itself = torch.eye(pairs.shape[-1], dtype=torch.bool, device=pairs.device)
        return pairs | itself if self.with_itself else pairs


def diagnose(code: str, *, more: str = "", sure: bool = True) -> Diagnosis:
    """The cause of that code in words."""
    cause, cure = CAUSES[code]
    return Diagnosis(code, f"{'' if sure else 'consistent with: '}{cause}{more}.", cure)


def diagnose_maps(
    seen: Sequence[Seen], heads: Heads | None = None, passed: Sequence[Allowed] = ()
) -> Diagnosis:
    """The one cause that all of these maps equal; several, or what is seen, where there is none.

    What the first map equals must explain the further ones, too, of other lengths in another order.
    Several causes are then told apart by rows of padding (where these are known, and not
    only gradients), then by what was passed, in any sense that it may be read in. `heads` are those
    that were seen, of all.
    """
    codes = _fitting(seen[0], heads)
    for other in seen[1:]:
        explained = _explaining(other, heads, codes)
        codes = {code: more for code, more in codes.items() if code in explained}
    if len(codes) > 1 and not seen[0].with_itself:
        codes = _by_all_rows(seen[0], heads, codes) or codes
    if len(codes) > 1:
        codes = _by_passed(seen[0], heads, codes, passed) or codes
    if len(codes) == 1:
        code, more = next(iter(codes.items()))
        return diagnose(code, more=more)
    return _either(list(codes)) if codes else _reordered(seen) or _described(seen[-1])


def _fitting(seen: Seen, heads: Heads | None) -> dict[str, str]:
    """The causes whose mask equals it on the rows of real tokens, and what to add to each."""
    rows = seen.valid & seen.allowed.any(dim=-1)
    found: dict[str, str] = {}
    for one in hypotheses(seen.allowed, seen.pattern, seen.valid, heads):
        if one.code not in found and _equal(seen, one.opened, rows):
            found[one.code] = one.more
    return {} if _equal(seen, seen.allowed[:, None], rows) else found


def _explaining(seen: Seen, heads: Heads | None, codes: Collection[str]) -> set[str]:
    """Those of the causes that explain a further map; it is right where a cause changes nothing."""
    rows = seen.valid & seen.allowed.any(dim=-1)
    fitting = hypotheses(seen.allowed, seen.pattern, seen.valid, heads)
    found = {h.code for h in fitting if h.code in codes and _equal(seen, h.opened, rows)}
    if _equal(seen, seen.allowed[:, None], rows):
        found |= set(codes) - {h.code for h in fitting}
    return found


def _by_all_rows(seen: Seen, heads: Heads | None, codes: Mapping[str, str]) -> dict[str, str]:
    fitting = hypotheses(seen.allowed, seen.pattern, seen.valid, heads)
    whole = seen.opened.shape
    same = {h.code for h in fitting if seen.residual(h.opened).expand(whole).equal(seen.opened)}
    return {code: more for code, more in codes.items() if code in same}


def _by_passed(
    seen: Seen, heads: Heads | None, codes: Mapping[str, str], passed: Sequence[Allowed]
) -> dict[str, str]:
    """The causes whose mask was passed: then it is the mask that is wrong, and not the model."""
    fitting = hypotheses(seen.allowed, seen.pattern, seen.valid, heads)
    same = {h.code for h in fitting for one in passed if h.opened[:, 0].equal(one)}
    return {code: more for code, more in codes.items() if code in same}


def _either(codes: Sequence[str]) -> Diagnosis:
    """One of several causes, which cannot be told apart."""
    first = diagnose(codes[0], sure=False)
    also = "; or ".join(CAUSES[code].sentence for code in codes)
    return Diagnosis(codes[0], f"consistent with: {also}.", first.cure)


def _reordered(seen: Sequence[Seen]) -> Diagnosis | None:
    """Every sample has the whole mask of another one, in no order that is known by name."""
    orders = [_order(one) for one in seen]
    if any(not order or order == sorted(order) for order in orders):
        return None
    pairs = [f"{a} that of {b}" for a, b in enumerate(orders[0]) if a != b]
    return diagnose("other_sample", more=f" (sample {', sample '.join(pairs)})")


def _order(seen: Seen) -> list[int]:
    """Whose mask each sample has, if that is one sample each; else empty."""
    rows = (seen.valid & seen.allowed.any(dim=-1))[:, :, None]
    found = []
    for sample, opened in enumerate(seen.opened):
        apart = (opened[None] ^ seen.meant[:, None]) & rows[sample]
        [*same] = (~apart.flatten(1).any(dim=1)).nonzero()[:, 0].tolist()
        if len(same) != 1:
            return []
        found += same
    return found if len(set(found)) == len(found) else []


def _described(seen: Seen) -> Diagnosis:
    """What is known of a map that equals no cause's: where pairs are missing, if nothing leaks."""
    rows = (seen.valid & seen.allowed.any(dim=-1))[:, None, :, None]
    wrong = (seen.opened ^ seen.meant[:, None]) & rows
    if not bool(wrong.any()) or bool((wrong & seen.opened).any()):
        return Diagnosis()
    both, edges = _globals(seen.pattern), _edges(seen.valid)
    wrong, meant = wrong.any(dim=1), seen.allowed & rows[:, 0]
    directions = (
        (wrong.sum(dim=1), meant.sum(dim=1), "the others do not look at them"),
        (wrong.sum(dim=2), meant.sum(dim=2), "they do not look at the others"),
    )
    for missing, allowed, words in directions:  # "batch place": a key's pairs, then a query's
        at = missing > 0
        if bool(both.any()) and not bool((at & ~both).any()) and _most(missing, allowed, at):
            return diagnose("one_way", more=f": {words}")
        if not bool((at & ~edges).any()) and _all_but_itself(missing, allowed, at):
            return diagnose("edge", more=" (pairs are missing there, and nowhere else)")
    return Diagnosis()


def _most(missing: Tensor, allowed: Tensor, at: Tensor) -> bool:
    return bool((2 * missing >= allowed)[at].all())


def _all_but_itself(missing: Tensor, allowed: Tensor, at: Tensor) -> bool:
    return bool((missing >= allowed - 1)[at].all())


def _globals(pattern: Allowed) -> Bool[Tensor, "batch token"]:
    """Tokens that see all and are seen by all, where others are not."""
    both = pattern.all(dim=1) & pattern.all(dim=2)
    return both & ~both.all(dim=1, keepdim=True)


def _edges(valid: Bool[Tensor, "batch token"]) -> Bool[Tensor, "batch token"]:
    """The outer quarter of the real tokens on either side, one at least."""
    place, count = valid.cumsum(dim=1) - 1, valid.sum(dim=1, keepdim=True)
    near = (count // 4).clamp_min(1)
    return valid & ((place < near) | (place >= count - near))


def diagnose_gradient(
    depends: Bool[Tensor, "batch query key"],
    allowed: Sequence[Allowed],
    pattern: Allowed,
    valid: Bool[Tensor, "batch token"],
    n_layers: int | None,
) -> Diagnosis:
    """Which causes would make these tokens depend on each other after all layers."""
    if len(allowed) > 1 or n_layers is None:
        return Diagnosis()
    rows = valid & allowed[0].any(dim=-1)
    found = [
        one.code
        for one in hypotheses(allowed[0], pattern, valid)
        if not bool((one.opened[:, 0] & ~depends)[rows].any())  # what is open is known of
        and torch.equal(must_know([one.opened[:, 0]], n_layers)[rows], depends[rows])
    ]
    return _either(list(dict.fromkeys(found))) if found else Diagnosis()


def _equal(seen: Seen, candidate: Tensor, rows: Tensor) -> bool:
    """Whether they agree on those rows in every head; a row without keys may be anything."""
    opened, candidate = seen.opened, candidate.expand_as(seen.opened)
    judged = rows[:, None].expand(opened.shape[:3]) & candidate.any(dim=-1)
    return bool(judged.any()) and opened[judged].equal(seen.residual(candidate)[judged])


def diagnose_constant(value: float) -> Diagnosis:
    """A number that bans too little, with the weight that it leaves."""
    leaves = f": {math.exp(value):.2g} of an allowed key's weight" if value > -100 else ""
    return diagnose("constant", more=f" (here {value:.3g}{leaves})")
