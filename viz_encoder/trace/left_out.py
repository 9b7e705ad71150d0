"""Notes on softmaxes that may be attention but belong to none of a run's calls."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Literal

from viz_encoder.shown import counted
from viz_encoder.trace.recorded_call import RecordedCall
from viz_encoder.trace.softmax import SeenSoftmax

Fate = Literal["dropped", "not followed", "lost"]
SeenIn = tuple[str, SeenSoftmax]  # name of the calling module
CURES: dict[Fate, str] = {
    "dropped": (
        "It is left out because something else attends, too: record(model, eager=True) keeps it."
    ),
    "not followed": (
        "If it is attention, record(model, eager=True) keeps it, unless something that cannot be "
        "followed is done to its weights before they meet the values."
    ),
    "lost": (
        "If it is attention, something that cannot be followed is done to its weights before they "
        "meet the values, so that its maps cannot be shown."
    ),
}


def notes_of_left_out(
    softmaxes: Iterable[SeenIn],
    calls: Collection[RecordedCall],
    shown: Collection[RecordedCall],
    is_within: Callable[[str], bool],
) -> tuple[str, ...]:
    """Notes for a trace of the shown calls, a subset of those kept."""
    sizes = {call.shape[2:] for call in shown}
    missing: dict[Fate, list[SeenIn]] = defaultdict(list)
    for name, seen in of_no_call(softmaxes, calls, sizes):
        if is_within(name):
            missing[_fate(seen)].append((name, seen))
    return tuple(
        f"{which_ran(found)} and is not among these layers, which are numbered without it. "
        f"{CURES[fate]}"
        for fate, found in missing.items()
    )


def unseen_beside(softmaxes: Iterable[SeenIn], calls: Collection[RecordedCall]) -> str:
    """A clause about what ran outside the kept calls; empty if everything was kept."""
    found = of_no_call(softmaxes, calls)
    return f". {which_ran(found)}, which no call holds" if found else ""


def of_no_call(
    softmaxes: Iterable[SeenIn],
    calls: Collection[RecordedCall],
    sizes: Collection[tuple[int, int]] = frozenset(),
) -> list[SeenIn]:
    """Softmaxes that may be attention but belong to no call."""
    kept = {id(call.attention.softmax) for call in calls}
    return [
        (name, seen)
        for name, seen in softmaxes
        if id(seen) not in kept and not seen.put_together and may_be_attention(seen, sizes)
    ]


def may_be_attention(seen: SeenSoftmax, sizes: Collection[tuple[int, int]] = frozenset()) -> bool:
    """Whether its sizes fit attention: tokens by tokens, as large as another map, or several heads.

    The softmax of a classifier or router has at most three axes, and fewer columns than rows.
    """
    rows, columns = seen.rows_and_columns
    return columns > 1 and (rows == columns or (rows, columns) in sizes or len(seen.sizes) > 3)


def which_ran(found: list[SeenIn]) -> str:
    """Name the first of them, and count the other modules that called one."""
    name, first = found[0]
    others = len({name for name, _ in found}) - 1
    more = f" (and one in {counted(others, 'other module')})" if others else ""
    rows, columns = first.rows_and_columns
    return f"A softmax over {rows:,} × {columns:,} ran in {name or 'the model itself'!r}{more}"


def _fate(seen: SeenSoftmax) -> Fate:
    if not seen.followed:
        return "not followed"
    return "dropped" if seen.met_values else "lost"
