"""Named endpoints of the Explore tab: maps, rows, columns, statistics and changes as numbers."""

from typing import Any

import numpy as np

from viz_encoder.analyses.column import column as column_of
from viz_encoder.analyses.overview import overview, row
from viz_encoder.errors import SelectionError, TooLong
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import Head, MapView
from viz_encoder.trace.token_selection import shown_tokens
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tabs.explore.comparison import changes, compared_runs, comparison_plain
from viz_encoder.ui.tabs.explore.pairs import key_means, pair_of, parse_key, plain_pair
from viz_encoder.ui.tabs.explore.plain_results import (
    distances,
    plain_findings,
    role_plain,
    similar_plain,
)
from viz_encoder.ui.wire.arguments import parse_head, parse_index
from viz_encoder.ui.wire.bytes import finite

MAX_TOKENS_AS_NUMBERS = 512


def attention(
    runner: Runner, key: str, layer: int, head: str, hide_special: bool = False
) -> list[list[float | None]]:
    """One head's map, rows = queries, columns = keys; head is a number, "mean" or "max".

    Keys that the mask forbids are null.
    """
    trace = runner.store.get(key).trace
    if trace.n_tokens > MAX_TOKENS_AS_NUMBERS:
        raise TooLong(
            f"This run has {trace.n_tokens:,} tokens; a whole map is given as numbers up "
            f"to {MAX_TOKENS_AS_NUMBERS}. Ask /attention_row for one query."
        )
    tile = overview(
        trace,
        *_place(trace, layer, head),
        rows=slice(None),
        keys=slice(None),
        size=MAX_TOKENS_AS_NUMBERS,
        tokens=shown_tokens(trace, hide_special=True) if hide_special else None,
    )
    found: list[list[float | None]] = finite(tile.values)
    return found


def attention_row(
    runner: Runner, key: str, layer: int, head: str, query: int
) -> list[float | None]:
    """Weights of one query over all keys; keys that the mask forbids are null."""
    trace = runner.store.get(key).trace
    at = parse_index("query", query, trace.n_tokens)
    found: list[float | None] = finite(row(trace, *_place(trace, layer, head), at).weights)
    return found


def head_statistics(
    runner: Runner,
    key: str,
    layer: int,
    hide_special: bool = False,
    renormalize: bool = False,
) -> dict[str, list[float | None]]:
    """Every statistic of a layer's heads, one number per head; null where there is none."""
    entry = runner.store.get(key)
    at = parse_index("layer", layer, entry.trace.n_layers)
    named = entry.survey(at, _kept(hide_special, renormalize)).statistics
    return {name: finite(values) for name, values in named.items()}


def column(runner: Runner, key: str, layer: int, head: str, token: int) -> list[float | None]:
    """Weight on one token from every query; null where the mask forbids it."""
    trace = runner.store.get(key).trace
    at = parse_index("token", token, trace.n_tokens)
    found: list[float | None] = finite(column_of(trace, *_place(trace, layer, head), at).weights)
    return found


def pair(
    runner: Runner,
    key: str,
    query: int,
    token: int,
    hide_special: bool = False,
    renormalize: bool = False,
    words: bool = False,
) -> dict[str, list[list[float | None]]]:
    """Weight of a query on a token in every head, one list per layer.

    Returns the "weights", the "means" that the token gets over all real queries, and their
    "ratios"; null where the mask forbids the pair.
    """
    entry = runner.store.get(key)
    at = parse_index("query", query, entry.trace.n_tokens), parse_key(token, entry.trace)
    view = _kept(hide_special, renormalize, words)
    means = np.concatenate(list(key_means(entry, at[1], view)))
    return plain_pair(pair_of(entry, *at, view, means))


def findings(runner: Runner, key: str) -> dict[str, Any]:
    """Findings of a run: a "sentence", and everything "found", strongest first."""
    entry = runner.store.get(key)
    return plain_findings(entry.findings())


def role(runner: Runner, key: str, role: str, layer: int, offset: int = 0) -> dict[str, Any]:
    """The `shares` of each head's attention that a role has in one layer, and of how many queries.

    Roles: previous, next, same, offset, first, delimiter, sink, punctuation, across, a_to_b,
    b_to_a, pronoun, as `viz_encoder.analyses.role_shares` defines them.
    """
    trace = runner.store.get(key).trace
    return role_plain(trace, role, int(offset), parse_index("layer", layer, trace.n_layers))


def similar(runner: Runner, key: str, layer: int, head: int) -> dict[str, Any]:
    """Jensen–Shannon `distances` of every head's rows from one head's, by layer.

    0 = the same rows, 1 = no key in common; each a mean over that many `queries`; null = unknown.
    """
    trace = runner.store.get(key).trace
    at = parse_index("layer", layer, trace.n_layers)
    found = distances(trace, at, parse_index("head", head, trace.layers[at].n_heads))
    return similar_plain(np.concatenate(list(found)), trace)


def change(
    runner: Runner,
    key: str,
    reference: str,
    layer: int,
    hide_special: bool = False,
    renormalize: bool = False,
    words: bool = False,
) -> list[float | None]:
    """Distance of each head's map in a layer from that of the run `reference`.

    0 = the same map, 1 = no key in common: ½ Σ |a − b| of two rows, mean over the real queries.
    """
    return changes(runner.store, key, reference, layer, _kept(hide_special, renormalize, words))


def compared(
    runner: Runner,
    key: str,
    reference: str,
    query: int = -1,
    token: int = -1,
    hide_special: bool = False,
    renormalize: bool = False,
    words: bool = False,
) -> dict[str, Any]:
    """A run against the run `reference`, whatever their lengths; every number is this − reference.

    `aligned` pairs equal tokens, this run's first. With a query: the change of its `row` by layer
    and head, 0 … 1; with a token also its `cell` (now, was, change). `heads` ranks them, the
    largest change first: of the cell, the row or, without either (-1), the mean of all rows. `why`
    says what cannot be compared.
    """
    found = compared_runs(runner.store, key, reference)
    looks, at = (None if number == -1 else number for number in (query, token))
    return comparison_plain(found, looks, at, _kept(hide_special, renormalize, words))


def _place(trace: Trace, layer: int, head: str) -> tuple[int, Head]:
    """The layer and head that a client named, if the run has them."""
    return parse_index("layer", layer, trace.n_layers), parse_head(head, trace)


def _kept(hide_special: object, renormalize: object, words: object = False) -> MapView:
    """The page's switches as a MapView."""
    switches = {"hide_special": hide_special, "renormalize": renormalize, "words": words}
    for name, value in switches.items():
        if not isinstance(value, bool):
            raise SelectionError(f"{name} is {str(value)[:40]!r}; give true or false.")
    return MapView(**switches)  # type: ignore[arg-type]


ENDPOINTS = (
    *(attention, attention_row, head_statistics, column, pair, findings),
    *(role, similar, change, compared),
)
