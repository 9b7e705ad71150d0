"""Head statistics: what each number of a head means, in words, and its largest possible value."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from math import log
from typing import Any

import numpy as np
from jaxtyping import Int


@dataclass(frozen=True)
class Statistic:
    """A number of a head in words, with its range in a run of n real tokens."""

    title: str
    unit: str
    meaning: str
    edge: str = ""  # which queries are left out, as a sentence
    over: str = "Mean over the real queries."
    most: Callable[[int], float] = lambda n_tokens: 1.0  # largest possible value
    even: Callable[[int], float] | None = None  # value under uniform attention

    def of(self, n_tokens: int) -> dict[str, Any]:
        """Plain data for a run of n_tokens real tokens."""
        numbers = {
            "most": self.most(n_tokens),
            "even": None if self.even is None else self.even(n_tokens),
        }
        return {field.name: getattr(self, field.name) for field in fields(self)} | numbers


STATISTICS = {
    "entropy": Statistic(
        "Entropy", "nats", "how evenly each query spreads its weight", most=log, even=log
    ),
    "distance": Statistic(
        "Mean distance",
        "tokens",
        "how far away the keys are, weighted",
        # Each query attends to the farther end.
        most=lambda n_tokens: (3 * n_tokens**2 - 2 * n_tokens - n_tokens % 2) / (4 * n_tokens),
        even=lambda n_tokens: (n_tokens**2 - 1) / (3 * n_tokens),
    ),
    "previous": Statistic(
        "Weight on the previous token",
        "share",
        "heads that look at the previous token",
        "The first query has none and is left out.",
    ),
    "next": Statistic(
        "Weight on the next token",
        "share",
        "heads that look at the next token",
        "The last query has none and is left out.",
    ),
    "same": Statistic("Weight on the query itself", "share", "heads that look at the same token"),
    "first": Statistic("Weight on the first token", "share", "heads that look at the first token"),
    "special": Statistic("Weight on special tokens", "share", "heads that look at special tokens"),
    "largest": Statistic(
        "Largest single weight",
        "share",
        "heads with one weight that stands out",
        over="The largest over all real queries.",
    ),
}
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
