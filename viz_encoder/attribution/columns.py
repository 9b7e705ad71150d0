"""TokenColumns: the tokens of one run, or of two side by side."""

from bisect import bisect_left
from typing import NamedTuple

from viz_encoder.trace import Trace
from viz_encoder.trace.alignment import align


class TokenColumns(NamedTuple):
    """One column a token, or a pair of tokens that stand for each other; None: only in the other.

    names: of each column; two different tokens as "tired/wide".
    here, there: the column of each token of each run; padding has −1.
    """

    names: tuple[str, ...]
    here: tuple[int, ...]
    there: tuple[int, ...] = ()


def columns_of(trace: Trace, reference: Trace | None = None) -> TokenColumns:
    """The tokens of a run in their order, with those of another that has no partner between them.

    Tokens are aligned as `compare` aligns them. Where as many tokens differ in both runs between
    two that are aligned, they stand for each other in their order, as in a swap.
    """
    if reference is None:
        return TokenColumns(trace.tokens, tuple(range(trace.n_tokens)))
    found = align(trace, reference)
    here, there = [-1] * trace.n_tokens, [-1] * reference.n_tokens
    names: list[str] = []
    ours, theirs = sorted(found.only_here), sorted(found.only_there)
    for a, b in (*sorted(found.pairs), (trace.n_tokens, reference.n_tokens)):
        before, ours = _cut(ours, a)
        its, theirs = _cut(theirs, b)
        pairs: list[tuple[int | None, int | None]]
        if len(before) == len(its):
            pairs = list(zip(before, its, strict=True))
        else:
            pairs = [*((one, None) for one in before), *((None, other) for other in its)]
        for one, other in (*pairs, (a, b)) if a < trace.n_tokens else pairs:
            if one is not None:
                here[one] = len(names)
            if other is not None:
                there[other] = len(names)
            names.append(_name(trace, reference, one, other))
    return TokenColumns(tuple(names), tuple(here), tuple(there))


def _cut(places: list[int], end: int) -> tuple[list[int], list[int]]:
    """Sorted places below the end, and the rest."""
    at = bisect_left(places, end)
    return places[:at], places[at:]


def _name(trace: Trace, reference: Trace, one: int | None, other: int | None) -> str:
    mine = None if one is None else trace.tokens[one]
    its = None if other is None else reference.tokens[other]
    return "/".join(dict.fromkeys(name for name in (mine, its) if name is not None))
