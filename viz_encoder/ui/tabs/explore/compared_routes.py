"""Routes of two runs: what one has changed against the other, the reference."""

from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from viz_encoder.analyses.compare import compare
from viz_encoder.errors import SelectionError
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.tabs.explore.comparison import (
    changes,
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
REFERENCE_GONE = "The reference has expired on the server; choose another run under “against”."


async def _reference(reference: str, runs: Runs) -> Entry:
    try:
        return runs.store.get(reference)
    except SelectionError:
        raise SelectionError(REFERENCE_GONE) from None


Reference = Annotated[Entry, Depends(_reference)]  # the run that is compared with


@OF_TWO_RUNS.get("/change")
@at_once
def change(entry: Held, before: Reference, layer: Layer, view: KeptView) -> list[float | None]:
    """Distance of each head's map in a layer from that of the run `reference`; null = unknown.

    0 = the same map, 1 = no key in common: ½ Σ |a − b| of two rows, mean over the real queries.
    """
    return changes(entry.trace, before.trace, layer, view)


@OF_TWO_RUNS.get("/compared")
@COMPARED
def compared(
    entry: Held,
    before: Reference,
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
    return comparison_plain(compare(entry.trace, before.trace), query, key, view)


@OF_TWO_RUNS.get("/compared_map")
def compared_map(
    entry: Held,
    before: Reference,
    view: Shown,
    rows: str = "0:",
    keys: str = "0:",
    size: int = MAX_SIDE,
) -> Response:
    """This run's map − the reference's, float32 "query key" over what is shown of this run.

    NaN where a token has no partner or a mask forbids the pair; over size cells a side, the change
    of the largest amount of each block, with its sign. x-about names the places without a partner.
    """
    found, n_shown = compare(entry.trace, before.trace), len(view.kept(entry.trace))
    part = (parse_range(side, n_shown) for side in (rows, keys))
    tile, alone = signed_map(found, view, *part, size=min(max(1, size), MAX_SIDE))
    return answers.array(tile.values, step=f"{tile.row_step},{tile.key_step}", about=alone)


@OF_TWO_RUNS.get("/compared_map/{kind}")
def compared_map_file(entry: Held, before: Reference, view: Shown, kind: str) -> Response:
    """The whole signed map as csv or npz, or as the code that gives it (py)."""
    found, code = compare(entry.trace, before.trace), partial(change_code, entry, before, view)
    return change_file(found, view, code).answer(entry, kind, view)


@OF_TWO_RUNS.get("/compared_maps")
def compared_maps(entry: Held, before: Reference, layer: Layer, kept: KeptView) -> Response:
    """One layer's signed maps, float32 "head row col", small; what is left out as of /map."""
    found = compare(entry.trace, before.trace)
    return answers.array(signed_thumbnails(found, replace(kept, layer=layer)))
