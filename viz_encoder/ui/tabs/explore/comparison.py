"""A run compared with another that is held, token by token and head by head, as plain data."""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.change import layer_change
from viz_encoder.analyses.compare import Comparison, compare
from viz_encoder.attribution.asked import columns_of
from viz_encoder.errors import SelectionError
from viz_encoder.shown import quoted
from viz_encoder.trace import Trace
from viz_encoder.trace.map_change import SignedTile
from viz_encoder.trace.map_view import AS_IT_RAN, MapView
from viz_encoder.ui.state.readable import printable
from viz_encoder.ui.wire.arguments import parse_index
from viz_encoder.ui.wire.bytes import finite

THUMBNAIL = 64  # most cells a side of a small map


def comparison_plain(
    found: Comparison, query: object = None, key: object = None, view: MapView = AS_IT_RAN
) -> dict[str, Any]:
    """Changes in the cell, the row or the whole map; null where undefined.

    Args:
        found: the comparison.
        query: a token of this run, for the change of its row; if not given, heads are ranked by
            the mean change of all rows.
        key: another, for the change of the cell.
        view: what is hidden, renormalized and merged in both runs.

    Raises:
        SelectionError: no such token, or a key without a query.
    """
    n_tokens = found.trace.n_tokens
    at = None if query is None else parse_index("query", query, n_tokens)
    of = None if key is None else parse_index("key", key, n_tokens)
    cell = row = None
    if not found.why and at is not None:
        row = found.row(at, view)
        cell = None if of is None else found.cell(at, of, view)
    ranked = () if found.why else found.heads(at, of, view)
    return {
        "aligned": [list(pair) for pair in found.aligned],
        "only_here": list(found.only_here),
        "only_there": list(found.only_there),
        "by": found.by,
        "cell": cell and {name: finite(getattr(cell, name)) for name in ("now", "was", "change")},
        "row": None if row is None else finite(row),
        "heads": [[each.layer, each.head, each.change] for each in ranked],
        "why": found.why or _lonely(found, at, of),
    }


def signed_map(
    found: Comparison, view: MapView, rows: slice, keys: slice, *, size: int
) -> tuple[SignedTile, dict[str, list[int]]]:
    """A part of the signed map as a view has it, and the places in it without a partner.

    Raises:
        SelectionError: heads that cannot be compared, or no such layer or head.
    """
    tile = found.tile(view.layer, view.head, rows=rows, keys=keys, size=size, **view.switches)
    if tile.row_step * tile.key_step > 1:
        return tile, {}
    here, there = (view.kept(run) for run in (found.trace, found.reference))
    partners = found.shown_partners(here, there)
    sides = {"rows": rows, "keys": keys}
    alone = {
        side: [at for at in range(*part.indices(len(here))) if at not in partners]
        for side, part in sides.items()
    }
    return tile, alone


def signed_thumbnails(found: Comparison, view: MapView) -> Float[np.ndarray, "head row col"]:
    """The signed maps of all heads of a layer, at most THUMBNAIL cells a side.

    Raises:
        SelectionError: heads that cannot be compared, or no such layer.
    """
    heads = range(found.trace.layers[view.layer].n_heads)
    tiles = [found.tile(view.layer, head, size=THUMBNAIL, **view.switches) for head in heads]
    return np.stack([tile.values for tile in tiles])


def _lonely(found: Comparison, query: int | None, key: int | None) -> str:
    chosen = dict.fromkeys(token for token in (query, key) if token is not None)
    alone = [token for token in chosen if found.partner(token) is None]
    if not alone:
        return _masked(found, query, key)
    replaced = _replaced(found)
    lonely = [token for token in alone if token not in replaced]
    if not lonely:
        taken = " and ".join(replaced[token] for token in alone)
        return f"{taken}. Weights are compared between equal tokens only."
    names = " and ".join(quoted(printable(found.trace.tokens[token])) for token in lonely)
    verb, its = ("have", "their") if len(lonely) > 1 else ("has", "its")
    return f"{names} {verb} no counterpart in the reference, so {its} change is unknown."


def _replaced(found: Comparison) -> dict[int, str]:
    """Tokens that stand for another of the reference in the answer's columns, and for which."""
    columns = columns_of(found.trace, found.reference)
    theirs = {column: at for at, column in enumerate(columns.there) if column >= 0}
    said = {}
    for token, column in enumerate(columns.here):
        if column in theirs and found.partner(token) is None:
            names = found.trace.tokens[token], found.reference.tokens[theirs[column]]
            ours, its = (quoted(printable(name)) for name in names)
            said[token] = f"{ours} takes the place of {its} in the reference"
    return said


def _masked(found: Comparison, query: int | None, key: int | None) -> str:
    if query is None or key is None or found.why:
        return ""
    if not np.isnan(found.cell(query, key).change).all():
        return ""
    return "A mask forbids this pair in one of the two runs, so there is no change to show."


def changes(trace: Trace, before: Trace, layer: int, view: MapView) -> list[float | None]:
    """The total variation distance of every head of a layer, mean over the real queries.

    Runs of one length are compared place by place, others on the tokens that both have; `view` is
    what is hidden, renormalized and merged in both first.
    """
    if before.n_layers != trace.n_layers:
        raise SelectionError(
            f"The reference has {before.n_layers} layers and this run has {trace.n_layers}; "
            "they cannot be compared head by head. Use a run of a model of the same size."
        )
    same = before.n_tokens == trace.n_tokens
    if same and view.as_it_ran:
        heads = layer_change(trace, before, layer).heads
    else:
        both = compare(trace, before)
        places = tuple((at, at) for at in range(trace.n_tokens))
        heads = (replace(both, aligned=places) if same else both).layer(layer, view)
    found: list[float | None] = finite(heads)
    return found
