"""Offline page: every head's map and one exact map, in a single HTML file."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.overview import overview
from viz_encoder.analyses.survey import survey
from viz_encoder.arguments import read_index
from viz_encoder.attribution.attribution import Attribution
from viz_encoder.effects.outcome import Outcome
from viz_encoder.errors import SelectionError
from viz_encoder.export.explained import kept
from viz_encoder.export.quantize import LEVELS, Steps, pack
from viz_encoder.export.run_document import SPARE, as_kept, require_proven, run_document
from viz_encoder.export.tables import view_note
from viz_encoder.figures.theme import head_name
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import SCALES, MapView

MAX_BYTES = 5_000_000
WHOLE_SIDE = 256  # up to so many tokens, maps are kept cell by cell
SIDES = (64, 32)  # cells a side, where there are more tokens or no room for whole maps
EXACT_SIDE = 512  # cells a side of the chosen map: at most 1 MiB


def draw_page(
    trace: Trace,
    view: MapView,
    *,
    query: int | None = None,
    key: int | None = None,
    snippet: str = "",
    changed: tuple[Sequence[str], Outcome] | None = None,
    explained: Attribution | None = None,
) -> bytes:
    """The whole file. It opens from a disk, and its policy forbids it any network.

    All heads are there in 8 bits (see `Steps` for how near they are, which the page says too): cell
    by cell up to 256 tokens, else the largest weight of each block. The chosen map is float32, cell
    by cell up to 512 tokens. Where that would be over 5 MB, the other maps get coarser.

    Args:
        trace: the run.
        view: the chosen map, and what it hides, renormalizes and merges; the other maps are whole.
            Its scale is that of all colors.
        query: a row to mark, if any.
        key: a cell of that row to read, if any.
        snippet: Python that gives the chosen map again, to be shown on the page.
        changed: for a run with changes, each change in words, and their effect on the output.
        explained: a score of this run, of which the page draws how it got there.
    """
    require_proven(trace)
    if view.scale not in SCALES:
        named = ", ".join(SCALES)
        raise SelectionError(f"There is no color scale {view.scale[:20]!r}; choose {named}.")
    chosen, values = _chosen(trace, view)
    first = view.kept(trace)[0][0]
    token = first if query is None else read_index("query", query, trace.n_tokens)
    if key is not None:
        key = read_index("key", key, trace.layers[view.layer].k.shape[1])
    fill = partial(
        run_document,
        trace,
        MapView(scale=view.scale),
        places=[(at, head) for at, ran in enumerate(trace.layers) for head in range(ran.n_heads)],
        opening=(view.layer, view.head, token),
        key=key,
        chosen=chosen,
        exact=values.astype("<f4").tobytes(),
        snippet=snippet,
        changed=_changed(changed),
        explained=None if explained is None else kept(explained),
    )
    room = MAX_BYTES - SPARE - len(fill(None).encode())
    return _finest(trace, room // 4 * 3, fill).encode()


def _finest(trace: Trace, room: int, fill: Callable[[Steps | None], str]) -> str:
    """All maps as finely as fit: whole ones first, with fewer and fewer levels, then pooled ones.

    Where nothing fits, the coarsest are given.
    """
    n_tokens = max(max(layer.q.shape[1], layer.k.shape[1]) for layer in trace.layers)
    for side in (*([WHOLE_SIDE] if n_tokens <= WHOLE_SIDE else []), *SIDES):
        maps = [head for layer in survey(trace, side) for head in layer.thumbnails_max]
        for levels in LEVELS:
            packed = pack(maps, levels, room)
            if len(packed.tops) == len(maps):
                return fill(packed)
    return fill(pack(maps, levels))


def _changed(given: tuple[Sequence[str], Outcome] | None) -> dict[str, Any] | None:
    """The change, and the answers before and after, each as (label, before, after)."""
    if given is None:
        return None
    made, outcome = given
    before, after = outcome.shares
    answers = zip(outcome.labels, before, after, strict=True) if outcome.labels else ()
    return {
        "made": list(made),
        "sentence": outcome.sentence,
        "answers": [list(answer) for answer in answers],
    }


def _chosen(trace: Trace, view: MapView) -> tuple[dict[str, Any], Float[np.ndarray, "row col"]]:
    """The chosen map in words, and its cells."""
    everything, ran = slice(None), trace.layers[view.layer]
    tile = overview(
        trace,
        view.layer,
        view.head,
        rows=everything,
        keys=everything,
        size=EXACT_SIDE,
        tokens=view.kept(trace),
        renormalize=view.renormalize,
    )
    chosen = {
        "layer": view.layer,
        "head": view.head if isinstance(view.head, int) and view.as_it_ran else None,
        "name": head_name(view.layer, view.head),
        "shape": list(tile.values.shape),
        "cross": ran.cross,
        "counts": [ran.q.shape[1], ran.k.shape[1]],
    }
    if not view.as_it_ran:
        chosen |= as_kept(trace, view) | {"note": view_note(trace, view)}
    return chosen, tile.values
