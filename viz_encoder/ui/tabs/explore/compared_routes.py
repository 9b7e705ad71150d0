"""Routes of two runs: what one has changed against the other, the reference."""

from dataclasses import replace

from fastapi import APIRouter, Response

from viz_encoder.trace.token_selection import shown_tokens
from viz_encoder.ui.tabs.explore.comparison import (
    changes,
    compared_runs,
    comparison_plain,
    signed_map,
    signed_thumbnails,
)
from viz_encoder.ui.tabs.explore.downloads import change_code, change_file
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import MAX_SIDE, Held, KeptView, Layer, Runs, Shown, parse_range
from viz_encoder.ui.wire.concurrency import Places, Plain, at_once
from viz_encoder.ui.wire.errors import ErrorRoute

OF_TWO_RUNS = APIRouter(route_class=ErrorRoute)
# A row is quick, and stands under a click: whole runs are not before it.
COMPARED = Places(1, small=lambda given: given.get("query") is not None)


@OF_TWO_RUNS.get("/change")
@at_once
def change(run: str, runs: Runs, reference: str, layer: int, view: KeptView) -> list[float | None]:
    """Distance of each head's map in a layer from that of the run `reference`; null = unknown.

    0 = the same map, 1 = no key in common: ½ Σ |a − b| of two rows, mean over the real queries.
    """
    return changes(runs.store, run, reference, layer, view)


@OF_TWO_RUNS.get("/compared")
@COMPARED
def compared(
    run: str,
    runs: Runs,
    reference: str,
    *,
    query: int | None = None,
    key: int | None = None,
    view: KeptView,
) -> Plain:
    """A run against the run `reference`, whatever their lengths; every number is this − reference.

    `aligned` pairs equal tokens, this run's first. With a query: the change of its `row` by layer
    and head, 0 … 1; with a second token also its `cell` (now, was, change). `heads` ranks them, the
    largest change first: of the cell, the row or, without either, the mean of all rows. `why`
    says what cannot be compared.
    """
    return comparison_plain(compared_runs(runs.store, run, reference), query, key, view)


@OF_TWO_RUNS.get("/compared_map")
def compared_map(
    run: str,
    runs: Runs,
    entry: Held,
    view: Shown,
    reference: str,
    rows: str = "0:",
    keys: str = "0:",
    size: int = MAX_SIDE,
) -> Response:
    """This run's map − the reference's, float32 "query key" over what is shown of this run.

    NaN where a token has no partner or a mask forbids the pair; over size cells a side, the change
    of the largest amount of each block, with its sign. x-about names the places without a partner.
    """
    n_shown = len(shown_tokens(entry.trace, hide_special=view.hide_special, words=view.words))
    found = compared_runs(runs.store, run, reference)
    part = (parse_range(side, n_shown) for side in (rows, keys))
    tile, alone = signed_map(found, view, *part, size=min(max(1, size), MAX_SIDE))
    return answers.array(tile.values, step=f"{tile.row_step},{tile.key_step}", about=alone)


@OF_TWO_RUNS.get("/compared_map/{kind}")
def compared_map_file(
    run: str, runs: Runs, entry: Held, view: Shown, reference: str, kind: str
) -> Response:
    """The whole signed map as csv or npz, or as the code that gives it (py)."""
    found = compared_runs(runs.store, run, reference)
    other = runs.store.get(reference)
    file = change_file(found, view, lambda: change_code(entry, other, view))
    return file.answer(entry, kind, view)


@OF_TWO_RUNS.get("/compared_maps")
def compared_maps(run: str, runs: Runs, reference: str, layer: Layer, kept: KeptView) -> Response:
    """One layer's signed maps, float32 "head row col", small; what is left out as of /map."""
    view = replace(kept, layer=layer)
    return answers.array(signed_thumbnails(compared_runs(runs.store, run, reference), view))
