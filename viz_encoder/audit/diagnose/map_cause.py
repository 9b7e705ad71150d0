"""The cause of a wrong map, by what the map equals; from gradients only what it is consistent with.

A map of one layer tells inverted from transposed. After two layers the two reach the same tokens,
so a name taken from gradients is one of several.
"""

from collections.abc import Collection, Iterator, Sequence

from viz_encoder.audit.diagnose.described import (
    described,
    framed,
    joined_groups,
    obeyed,
    one_direction,
    reordered,
)
from viz_encoder.audit.diagnose.diagnosis import UNKNOWN, diagnose, either
from viz_encoder.audit.diagnose.hypotheses import HeadFlags, hypotheses
from viz_encoder.audit.diagnose.hypothesis import Hypothesis, Identity, LayerOnBatch, Reached
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
    fits = _explaining(seen, heads)
    found = {one: more for one, more in fits.items() if one[0] not in excluded}
    if fits and not found:
        return UNKNOWN
    for tells in (_equals_all_rows, _is_passed):
        if len(_codes(found)) > 1:
            same = {one.identity for one in _of(seen[0], heads) if tells(seen[0], one)}
            found = {one: more for one, more in found.items() if one in same} or found
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


def diagnose_gradient(batches: Sequence[Reached], excluded: Collection[str] = ()) -> Diagnosis:
    """Causes that would produce these dependencies after all layers, in each of the batches."""
    found = [code for code in _codes(_explaining(batches)) if code not in excluded]
    return either(found) if found else UNKNOWN


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


def _of(seen: LayerOnBatch | Reached, heads: HeadFlags | None) -> Iterator[Hypothesis]:
    every = hypotheses(seen.allowed, seen.pattern, seen.valid, heads, seen.layers)
    # With the residual, a band without its diagonal is the whole band.
    return (one for one in every if not (seen.with_itself and one.code == "misses_self"))


def _explaining(
    seen: Sequence[LayerOnBatch | Reached], heads: HeadFlags | None = None
) -> dict[Identity, str]:
    """The simplest causes whose mask equals each observation, and what to add to each."""
    first, *others = seen
    found: dict[Identity, str] = {}
    for one in () if first.is_right else _of(first, heads):
        if one.identity not in found and first.is_open_as(one.opened):
            found[one.identity] = one.more
    for other in others if found else ():
        each = [one for one in _of(other, heads) if one.identity in found]
        fits = {one.identity for one in each if other.is_open_as(one.opened)}
        # A cause that changes nothing there predicts it right.
        same = {*found} - {one.identity for one in each} if other.is_right else set()
        found = {one: more for one, more in found.items() if one in fits | same}
    return _simplest(found)


def _equals_all_rows(seen: LayerOnBatch, one: Hypothesis) -> bool:
    return not seen.with_itself and one.opened.expand_as(seen.opened).equal(seen.opened)


def _is_passed(seen: LayerOnBatch, one: Hypothesis) -> bool:
    """Whether its mask was passed: then it is the mask that is wrong, and not the model."""
    return any(one.opened[:, 0].equal(reading.allowed) for reading in seen.passed)
