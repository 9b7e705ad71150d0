"""The cause of a wrong map, by what the map equals; from gradients only what it is consistent with.

A map of one layer tells inverted from transposed. After two layers the two reach the same tokens,
so a name taken from gradients is one of several.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.diagnose.described import described, framed, joined_groups, obeyed, reordered
from viz_encoder.audit.diagnose.diagnosis import UNKNOWN, diagnose, either
from viz_encoder.audit.diagnose.grids import one_direction
from viz_encoder.audit.diagnose.hypotheses import HeadFlags, hypotheses
from viz_encoder.audit.diagnose.hypothesis import Hypothesis, Identity, LayerOnBatch
from viz_encoder.audit.measure.reach import Allowed, must_know
from viz_encoder.audit.report import Diagnosis

OF_COUNTS = ("lengths", "rounded", "fraction")


def diagnose_maps(
    seen: Sequence[LayerOnBatch], heads: HeadFlags | None = None, excluded: Collection[str] = ()
) -> Diagnosis:
    """The one cause that all of these maps equal; several, or what is seen, where there is none.

    What the first map equals must explain the further ones, too, of other lengths in another order.
    Several causes are then told apart by rows of padding (where these are known, and not
    only gradients), then by what was passed, in any sense that it may be read in. `heads` are those
    that were seen, of all; `excluded` are codes of causes that something else contradicts.
    """
    found = _fitting(seen[0], heads)
    for other in seen[1:] if found else ():
        explained = _explaining(other, heads, found)
        found = {one: more for one, more in found.items() if one in explained}
    fits = _simplest(found)
    found = {one: more for one, more in fits.items() if one[0] not in excluded}
    if fits and not found:
        return UNKNOWN
    for tell_apart in (_by_all_rows, _by_passed):
        if len(_codes(found)) > 1:
            found = tell_apart(seen[0], heads, found) or found
    if len(_codes(found)) == 1:
        (code, _), more = next(iter(found.items()))
        # With the residual, a band without its diagonal looks the same, so the nearest comes first.
        return diagnose(code, more=more if len(found) == 1 or seen[0].with_itself else "")
    if found:
        return either(_codes(found))
    if not any(bool(one.wrong.any()) for one in seen):  # what is wrong is beside these maps
        return UNKNOWN
    for tell in (reordered, described, joined_groups, framed, one_direction, obeyed):
        if (told := tell(seen)) is not None:
            return told
    return UNKNOWN


def _simplest(found: dict[Identity, str]) -> dict[Identity, str]:
    """Lengths that may be wrong are not told from no mask at all, nor from one of the other side.

    Where padding is left, or stands where it is not masked for, their numbers may be right. What
    is moved on by the length of one of its parts is those parts in another order; where that puts
    all padding at the end, lengths that are only counted give the same mask, and one cause is both.
    """
    codes, left_out = set(_codes(found)), set[str]()
    left_out |= set(OF_COUNTS) if codes & {"ignored", "padding_ignored", "side"} else set()
    left_out |= {"shifted", "order"} if "joined" in codes else set()
    left_out |= {"joined"} if "counted" in codes else set()
    left_out |= {"keys_beside"} if "sees_self" in codes else set()
    left_out |= {"pattern_ignored"} if "documents" in codes else set()
    return {one: more for one, more in found.items() if one[0] not in left_out}


def _codes(found: Collection[Identity]) -> list[str]:
    return list(dict.fromkeys(code for code, _ in found))


def _of(seen: LayerOnBatch, heads: HeadFlags | None) -> Iterator[Hypothesis]:
    every = hypotheses(seen.allowed, seen.pattern, seen.valid, heads, seen.layers)
    # With the residual, a band without its diagonal is the whole band.
    return (one for one in every if not (seen.with_itself and one.code == "misses_self"))


def _fitting(seen: LayerOnBatch, heads: HeadFlags | None) -> dict[Identity, str]:
    """The causes whose mask equals it on the rows of real tokens, and what to add to each."""
    if seen.is_open_as(seen.allowed[:, None]):
        return {}
    found: dict[Identity, str] = {}
    for one in _of(seen, heads):
        if one.code == "first_sample" and not bool((seen.opened == seen.opened[:1]).all()):
            continue  # rows of padding, too, would have it
        if one.identity not in found and seen.is_open_as(one.opened):
            found[one.identity] = one.more
    return found


def _explaining(
    seen: LayerOnBatch, heads: HeadFlags | None, known: Collection[Identity]
) -> set[Identity]:
    """Keep the causes that explain a further map; one that changes nothing predicts it right."""
    found, there = set(), set()
    for one in _of(seen, heads):
        if one.identity in known:
            there.add(one.identity)
            if one.identity not in found and seen.is_open_as(one.opened):
                found.add(one.identity)
    return found | (set(known) - there if seen.is_open_as(seen.allowed[:, None]) else set())


def _by_all_rows(
    seen: LayerOnBatch, heads: HeadFlags | None, known: Mapping[Identity, str]
) -> dict[Identity, str]:
    if seen.with_itself:
        return {}
    whole = seen.opened.shape
    same = {one.identity for one in _of(seen, heads) if one.opened.expand(whole).equal(seen.opened)}
    return {one: more for one, more in known.items() if one in same}


def _by_passed(
    seen: LayerOnBatch, heads: HeadFlags | None, known: Mapping[Identity, str]
) -> dict[Identity, str]:
    """The causes whose mask was passed: then it is the mask that is wrong, and not the model."""
    same = {
        one.identity
        for one in _of(seen, heads)
        for reading in seen.passed
        if one.opened[:, 0].equal(reading.allowed)
    }
    return {one: more for one, more in known.items() if one in same}


class Reached(NamedTuple):
    """Dependencies after all layers, in one batch."""

    depends: Bool[Tensor, "batch query key"]
    allowed: Allowed
    pattern: Allowed
    valid: Bool[Tensor, "batch token"]


def diagnose_gradient(
    batches: Sequence[Reached], n_layers: int, excluded: Collection[str] = ()
) -> Diagnosis:
    """Causes that would produce these dependencies after all layers, in each of the batches.

    One that the mask of no further batch shows is held to those that do.
    """
    first, *others = batches
    explained = [one for one, fits in _reaching(first, n_layers).items() if fits]
    for other in others:
        there = _reaching(other, n_layers, explained)
        explained = [one for one in explained if there.get(one, True)]
    fits = _simplest(dict.fromkeys(explained, ""))
    found = [code for code in _codes(fits) if code not in excluded]
    return either(found) if found else UNKNOWN


def _reaching(
    batch: Reached, n_layers: int, known: Collection[Identity] | None = None
) -> dict[Identity, bool]:
    """Whether each cause, or each known one, would produce them."""
    depends, allowed, pattern, valid = batch
    rows = valid & allowed.any(dim=-1)
    found: dict[Identity, bool] = {}
    for one in hypotheses(allowed, pattern, valid):
        if found.get(one.identity) or (known is not None and one.identity not in known):
            continue
        if one.code == "misses_self":  # each knows of itself in any case
            continue
        opened = one.opened[:, 0]
        fits = not bool((opened & ~depends)[rows].any()) and torch.equal(
            must_know([opened], n_layers)[rows], depends[rows]
        )
        found[one.identity] = fits
    return found
