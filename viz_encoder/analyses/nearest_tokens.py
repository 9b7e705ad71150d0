"""Nearest tokens: which other hidden states of a run point the same way as one token's."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from viz_encoder.arguments import Count, Token, public
from viz_encoder.errors import SelectionError
from viz_encoder.result import TableResult
from viz_encoder.shown import after_blocks
from viz_encoder.trace import Trace
from viz_encoder.trace.token_selection import real_token, real_token_numbers, state_of


@dataclass(frozen=True, eq=False, repr=False)
class NearestTokens(
    TableResult, table={"token": "neighbors", "blocks": "states", "cosine": "cosines"}
):
    """The nearest first: neighbors[r] after states[r] blocks has cosine cosines[r], −1 … 1."""

    neighbors: Int[np.ndarray, " rank"]  # their numbers in the run
    states: Int[np.ndarray, " rank"]
    cosines: Float[np.ndarray, " rank"]
    token: int
    state: int


@public
def nearest_tokens(
    trace: Trace,
    token: Token,
    state: int,
    *,
    among: Sequence[int] | None = None,
    n: Count = 10,
    hide_special: bool = False,
) -> NearestTokens:
    """The tokens of the same run whose hidden states are nearest by cosine.

    A near state points the same way; it does not follow that the model treats both tokens alike.
    Cosines of different states are not comparable: a block may turn all tokens alike.

    Args:
        trace: the run.
        token: whose neighbors, by its number or name; never its own neighbor in its own state.
        state: after how many blocks, as in `trace.hidden`.
        among: the states that are searched; `state` alone if not given.
        n: how many at most.
        hide_special: whether special tokens such as [CLS] are left out.

    Raises:
        SelectionError: no such token or state, padding, a state of length 0, or n below 1.
    """
    token = real_token(trace, token)
    own = state_of(trace, state, np.array([token]))[0]
    length = np.linalg.norm(own)
    if not length:
        raise SelectionError(
            f"Token {token} {after_blocks(state)} has length 0, so it has no direction."
        )
    tokens = real_token_numbers(trace, hide_special=hide_special)
    searched = (state,) if among is None else tuple(dict.fromkeys(among))
    if not searched:
        raise SelectionError("among is empty; give the states to search.")
    flat = np.stack([_cosines(trace, at, tokens, own / length) for at in searched])
    itself = np.equal(searched, state)[:, None] & (tokens == token)
    flat[itself] = np.nan
    best = np.argsort(-flat.ravel(), kind="stable")[:n]  # NaN comes last
    best = best[np.isfinite(flat.ravel()[best])]
    rows, cols = np.unravel_index(best, flat.shape)
    where = np.array(searched, dtype=np.int64)
    return NearestTokens(tokens[cols], where[rows], flat[rows, cols], token, state)


def _cosines(
    trace: Trace,
    state: int,
    tokens: Int[np.ndarray, " token"],
    direction: Float[np.ndarray, " d_model"],
) -> Float[np.ndarray, " token"]:
    """NaN for a state of length 0."""
    hidden = state_of(trace, state, tokens)
    lengths = np.linalg.norm(hidden, axis=1)
    inner = (hidden * direction).sum(axis=1)  # row by row: equal states have equal cosines
    found = np.where(lengths > 0, inner / np.where(lengths > 0, lengths, 1), np.nan)
    return np.clip(found, -1.0, 1.0)
