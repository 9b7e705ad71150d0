"""Projection: the hidden states of all tokens and layers in one plane, by PCA."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int

from viz_encoder.arguments import OneOf, public
from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult
from viz_encoder.trace import Trace
from viz_encoder.trace.token_selection import n_states, real_token_numbers, state_of

CENTERS = ("together", "each layer")
Center = Annotated[str, OneOf(CENTERS)]


@dataclass(frozen=True, eq=False, repr=False)
class Projection(ArrayResult, main="points", table={("component_1", "component_2"): "points"}):
    """points[s, i] is where token tokens[i] lies after states[s] blocks, in the states' units.

    All states share one plane, so that distances in it may be compared. shares are the parts of
    the variance, 0 … 1, that the two axes show; the rest is not in the picture.
    """

    points: Float[np.ndarray, "state token 2"]
    shares: Float[np.ndarray, " 2"]
    axes: Float[np.ndarray, "2 d_model"]  # unit length
    states: tuple[int, ...]
    tokens: Int[np.ndarray, " token"]
    center: str


@public
def projection(
    trace: Trace,
    *,
    states: Sequence[int] | None = None,
    hide_special: bool = False,
    center: Center = "together",
) -> Projection:
    """Principal components (Pearson, 1901) of all chosen states, fitted once.

    Each axis points so that its largest entry is positive, so the same run gives the same picture.
    Longer states weigh more.

    Args:
        trace: the run.
        states: after how many blocks, as in `trace.hidden`; the embeddings and all if not given.
        hide_special: whether special tokens such as [CLS] are left out.
        center: "together" subtracts one mean; "each layer" subtracts each layer's own, so that the
            drift of all tokens from layer to layer does not take up an axis.

    Raises:
        SelectionError: no such state or way to center, the same state twice, or one point alone.
    """
    chosen = tuple(range(n_states(trace)) if states is None else states)
    tokens = real_token_numbers(trace, hide_special=hide_special)
    if len(set(chosen)) < len(chosen) or len(chosen) * len(tokens) < 2:
        raise SelectionError(
            f"{len(chosen)} states {list(chosen)} of {len(tokens)} tokens cannot be projected; "
            "give different states and at least two points."
        )
    means = [state_of(trace, state, tokens).mean(axis=0) for state in chosen]
    if center == "together":
        means = [np.mean(means, axis=0)] * len(chosen)
    axes, shares = _axes(trace, chosen, tokens, means)
    parts = _centered(trace, chosen, tokens, means)
    return Projection(
        np.stack([part @ axes.T for part in parts]), shares, axes, chosen, tokens, center
    )


def _axes(
    trace: Trace, states: Sequence[int], tokens: np.ndarray, means: Sequence[np.ndarray]
) -> tuple[Float[np.ndarray, "2 d_model"], Float[np.ndarray, " 2"]]:
    """The two directions of most variance, and their shares of it.

    From the states themselves where they are few; otherwise from d_model × d_model products, so
    that no more than one state is held at once.
    """
    width = len(means[0])
    if len(states) * len(tokens) <= width:
        every = np.concatenate(list(_centered(trace, states, tokens, means)))
        _, lengths, rows = np.linalg.svd(every, full_matrices=False)
        variances = lengths**2
    else:
        inner = np.zeros((width, width))
        for part in _centered(trace, states, tokens, means):
            inner += part.T @ part
        values, columns = np.linalg.eigh(inner)  # smallest first
        variances, rows = np.clip(values[::-1], 0, None), columns.T[::-1]
    total = variances.sum()
    axes, found = np.zeros((2, width)), min(2, len(rows))
    axes[:found] = rows[:found]
    shares = np.zeros(2)
    shares[:found] = variances[:found] / total if total > 0 else 0.0
    largest = axes[range(2), np.abs(axes).argmax(axis=1)]
    return axes * np.where(largest < 0, -1.0, 1.0)[:, None], shares


def _centered(
    trace: Trace, states: Sequence[int], tokens: np.ndarray, means: Sequence[np.ndarray]
) -> Iterator[Float[np.ndarray, "token d_model"]]:
    for state, mean in zip(states, means, strict=True):
        yield state_of(trace, state, tokens) - mean
