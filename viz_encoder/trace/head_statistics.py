"""Head statistics: each number of a head as what it is made of, in words, and its range."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import log
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.trace.query_sums import Amount, HeadBlock, QuerySums

MadeOf = Callable[[QuerySums], Amount]
OfQuery = Callable[[HeadBlock], Float[Tensor, "head query"]]


@dataclass(frozen=True)
class Statistic:
    """A number of a head in words, with its range in a run of n real tokens.

    made_of: its total and over how many queries, from the sums of a sweep.
    of_query: in place of it, a number of each query of a block, of which it is the mean, or the
        largest.
    """

    title: str
    unit: str
    meaning: str
    edge: str = ""  # which queries are left out, as a sentence
    over: str = "Mean over the real queries."
    most: Callable[[int], float] = lambda n_tokens: 1.0  # largest possible value
    even: Callable[[int], float] | None = None  # value under uniform attention
    made_of: MadeOf = attrgetter("none")
    of_query: OfQuery | None = None
    is_largest: bool = False

    def of(self, n_tokens: int) -> dict[str, Any]:
        """Plain data for a run of n_tokens real tokens."""
        words = ("title", "unit", "meaning", "edge", "over")
        return {name: getattr(self, name) for name in words} | {
            "most": self.most(n_tokens),
            "even": None if self.even is None else self.even(n_tokens),
        }


def _looks(where: str, what: str, made_of: MadeOf, edge: str = "") -> Statistic:
    """Weight on some of the keys."""
    return Statistic(
        f"Weight on {where}", "share", f"heads that look at {what}", edge, made_of=made_of
    )


def _on(kind: str, where: str, what: str) -> Statistic:
    return _looks(where, what, methodcaller("on", kind))


STATISTICS = {
    "entropy": Statistic(
        *("Entropy", "nats", "how evenly each query spreads its weight"),
        most=log,
        even=log,
        of_query=attrgetter("entropy"),
    ),
    "distance": Statistic(
        "Mean distance",
        "tokens",
        "how far away the keys are, weighted",
        # Each query attends to the farther end.
        most=lambda n_tokens: (3 * n_tokens**2 - 2 * n_tokens - n_tokens % 2) / (4 * n_tokens),
        even=lambda n_tokens: (n_tokens**2 - 1) / (3 * n_tokens),
        made_of=methodcaller("apart"),
    ),
    "previous": _looks(
        *("the previous token", "the previous token", methodcaller("at", -1)),
        "The first query has none and is left out.",
    ),
    "next": _looks(
        *("the next token", "the next token", methodcaller("at", 1)),
        "The last query has none and is left out.",
    ),
    "same": _looks("the query itself", "the same token", methodcaller("at", 0)),
    "first": _on("first", "the first token", "the first token"),
    "special": _on("special", "special tokens", "special tokens"),
    "largest": Statistic(
        "Largest single weight",
        "share",
        "heads with one weight that stands out",
        over="The largest over all real queries.",
        of_query=attrgetter("largest"),
        is_largest=True,
    ),
}

FARTHEST = 8  # tokens before or after the query
OFFSETS = tuple(range(-FARTHEST, FARTHEST + 1))
NAMED_OFFSETS = {-1: "previous", 0: "same", 1: "next"}  # those of STATISTICS
WORDS = "special tokens and punctuation do not count as words. A pair needs words in both texts."


def offset_name(offset: int) -> str:
    """The statistic of an offset: "offset_-2", "previous", "same", "next", "offset_+2"."""
    return NAMED_OFFSETS.get(offset, f"offset_{offset:+d}")


def _offset(offset: int) -> Statistic:
    where = f"the token {abs(offset)} tokens {'after' if offset > 0 else 'before'}"
    none = "Queries that have no such token are left out."
    return _looks(where, where, methodcaller("at", offset), none)


def _across(title: str, looks: str, over: str, *looking: int) -> Statistic:
    return Statistic(
        *(f"Weight {title}", "share", f"heads that look from words {looks}"),
        over=f"Over the words of {over}; {WORDS}",
        made_of=methodcaller("between", *looking),
    )


CONFIDENCE = Statistic(
    *("Confidence", "share"),
    "how much of its weight a query gives to one key (Voita et al., 2019)",
    of_query=attrgetter("largest"),
)
A, B = "of text A to words of text B", "of text B to words of text A"
ROLES = {
    "delimiter": _on("delimiter", "delimiters", "special tokens other than the first"),
    "sink": _on("sink", "sinks", "the first token or at special tokens"),
    "punctuation": _on("punctuation", "punctuation", "punctuation; 0 if the text has none"),
    "across": _across(
        *("on the other text of a pair", "to words of the other text", "both texts", 0, 1)
    ),
    "a_to_b": _across("from text A to text B", A, "that text", 0),
    "b_to_a": _across("from text B to text A", B, "that text", 1),
} | {offset_name(at): _offset(at) for at in OFFSETS if at not in NAMED_OFFSETS}


def of_query(asked: Mapping[str, Statistic]) -> dict[str, OfQuery]:
    """Those that are a number of each query."""
    return {name: each.of_query for name, each in asked.items() if each.of_query is not None}


def values_of(asked: Mapping[str, Statistic], sums: QuerySums) -> Float[Tensor, "statistic head"]:
    """Each statistic of every head, in order; NaN where it is of no query."""
    found = [_amount(name, each, sums) for name, each in asked.items()]
    totals, counts = map(torch.stack, zip(*found, strict=True))
    return totals / counts


def _amount(name: str, asked: Statistic, sums: QuerySums) -> Amount:
    if asked.of_query is None:
        return asked.made_of(sums)
    values = sums.by_query[name] * sums.real
    if asked.is_largest:
        return values.amax(dim=1), torch.ones_like(sums.n_real)
    return values.sum(dim=1), sums.n_real


OF_SHARES = ("entropy", "distance")  # only meaningful for weights that sum to 1
SHARES = "For this statistic, each query's weights are renormalized over the tokens shown."
WITHOUT_SPECIAL = {  # each sentence where special tokens are hidden
    "entropy": SHARES,
    "distance": f"{SHARES} Hidden tokens in between are counted.",
    "previous": "Queries whose previous token is hidden, and the first one, are left out.",
    "next": "Queries whose next token is hidden, and the last one, are left out.",
    "first": "Here, the first token is the first one shown.",
    "special": "Special tokens are hidden: no weight on them is shown.",
}


def said(
    positions: Int[np.ndarray, " token"],
    *,
    hide_special: bool = False,
    renormalize: bool = False,
    n_keys: int | None = None,
) -> dict[str, dict[str, Any]]:
    """Every statistic as plain data, over the real tokens shown, given by position.

    n_keys: number of keys, where they are other tokens.
    """
    found = {}
    for name, each in STATISTICS.items():
        limits = {}
        if hide_special:
            each = replace(each, edge=WITHOUT_SPECIAL.get(name, ""))
            limits = _distances(positions) if name == "distance" and len(positions) else {}
        each = replace(each, over=each.over + _over(name, hide_special, renormalize))
        n = n_keys if name == "entropy" and n_keys is not None else len(positions)
        found[name] = each.of(max(1, n)) | limits
    return found


def _over(name: str, hide_special: bool, renormalize: bool) -> str:
    rows = (
        " Rows are renormalized: each is divided by its sum over the tokens shown."
        if renormalize
        else ""
    )
    if hide_special and not renormalize and name not in OF_SHARES:
        rows = " Weights are not renormalized."
    return (" Special tokens are left out." if hide_special else "") + rows


def _distances(positions: Int[np.ndarray, " token"]) -> dict[str, float]:
    n, (first, last) = len(positions), (positions[0], positions[-1])
    most = np.maximum(positions - first, last - positions).mean()
    rank = 2 * np.arange(n) - n + 1  # times added minus times subtracted
    return {"most": float(most), "even": float(2 * (rank * positions).sum() / n**2)}
