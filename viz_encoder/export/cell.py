"""A notebook's cell: the maps of some heads, as many and as fine as its size has room for."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.overview import overview
from viz_encoder.arguments import Token, public
from viz_encoder.effects.rerun import HeadPlace
from viz_encoder.errors import SelectionError
from viz_encoder.export.quantize import FINE, LEVELS, Steps, pack
from viz_encoder.export.run_document import SPARE, model_of, require_proven, run_document, sizes_of
from viz_encoder.export.save import save
from viz_encoder.export.still import choose_opening, still
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import MapView
from viz_encoder.trace.notebook_cell import Cell
from viz_encoder.trace.token_selection import query_of

MAX_BYTES = 1_000_000
Bytes = Annotated[float, "a number of bytes, such as 1_000_000"]
FINE_SHARE = 4  # 16 bits a weight are taken where they need no more than a quarter of the room
WHOLE_CELLS = 12  # maps of more cells than so many times the room are not tried whole
SIDES = (512, 256, 128, 64, 32)  # cells a side, where not even one whole map has room

OneOrSeveral = Annotated[int | Sequence[int] | None, "a number, or several such as range(3)"]


@public
def draw_cell(
    trace: Trace,
    *,
    layer: OneOrSeveral = None,
    head: OneOrSeveral = None,
    query: Token | None = None,
    words: bool = False,
    hide_special: bool = False,
    max_bytes: Bytes = MAX_BYTES,
) -> Cell:
    """The maps of some heads in one document that needs no server; see `Trace.show`.

    Whole maps are kept in 16 bits a weight where that is little, else in 8, with fewer steps and
    then fewer heads where there is no room; only where not even one has room, it is the largest
    weight of each block. The document says how near its weights are and which heads it lacks.

    Raises:
        SelectionError: no such layer, head or query, or no room for anything.
        TraceError: the check of the maps failed, so they are not shown.
    """
    require_proven(trace)
    view = MapView(words=words, hide_special=hide_special)
    places = _places(trace, layer, head)
    query = None if query is None else query_of(trace, query)
    opening = choose_opening(trace, places, query)
    shown = replace(view, layer=opening[0], head=opening[1])
    fill = partial(run_document, trace, view, opening=opening)
    empty = Cell(
        fill(None, places=places, left_out=_left_out(places, [])),
        f"Attention of {model_of(trace)}, {sizes_of(trace)}",
        _height(trace),
        opening,
        partial(save, trace, view=shown),
        still(trace, shown),
    )
    ordered = _ordered(places, opening[:2])
    packed = _pack(trace, view, ordered, int(max_bytes) - empty.nbytes - SPARE)
    kept = ordered[: len(packed.tops)]
    if not kept:
        raise SelectionError(
            f"max_bytes is {max_bytes:,.0f}, which is too small for any map; give more."
        )
    filled = fill(packed, places=kept, left_out=_left_out(places, kept))
    return replace(empty, document=filled)


def _places(trace: Trace, layer: OneOrSeveral, head: OneOrSeveral) -> list[HeadPlace]:
    layers = _numbers("layer", layer, trace.n_layers)
    found = []
    for at in layers:
        trace.attention(at, rows=slice(0, 0))  # says so if there is no such layer
        for number in _numbers("head", head, trace.layers[at].n_heads):
            trace.attention(at, number, slice(0, 0))
            found.append((at, number))
    return list(dict.fromkeys(found))


def _numbers(what: str, chosen: OneOrSeveral, count: int) -> Sequence[int]:
    if chosen is None:
        return range(count)
    if chosen == ():
        raise SelectionError(f"{what} is empty; give a number, several such as range(3), or none.")
    return chosen if isinstance(chosen, Sequence) else [chosen]


def _ordered(places: list[HeadPlace], first: HeadPlace) -> list[HeadPlace]:
    """The head that is shown first, then its layer's, then the others, in which order they stay."""
    return sorted(places, key=lambda at: (at != first, at[0] != first[0], at))


def _pack(trace: Trace, view: MapView, places: list[HeadPlace], room: int) -> Steps:
    """Pack maps into the byte budget, as many and as fine as fit; pooled if not one fits whole."""
    whole = max(max(layer.q.shape[1], layer.k.shape[1]) for layer in trace.layers)
    n_bytes = room // 4 * 3  # base64 overhead
    side, cells = whole, sum(_n_cells(trace, layer) for layer, _ in places)
    if _n_cells(trace, places[0][0]) > WHOLE_CELLS * n_bytes:
        side = SIDES[0]
    if cells * 2 <= WHOLE_CELLS * n_bytes // FINE_SHARE:
        found = pack(_maps(trace, view, places, side), FINE, n_bytes // FINE_SHARE)
        if len(found.tops) == len(places):
            return found
    for levels in LEVELS[:3] if cells <= WHOLE_CELLS * n_bytes else LEVELS[:1]:
        found = pack(_maps(trace, view, places, side), levels, n_bytes)
        if len(found.tops) == len(places):
            return found
    for coarser in (side, *(each for each in SIDES if each < side)):
        found = pack(_maps(trace, view, places, coarser), LEVELS[0], n_bytes)
        if found.tops:
            break
    return found


def _maps(
    trace: Trace, view: MapView, places: list[HeadPlace], side: int
) -> Iterator[Float[np.ndarray, "row col"]]:
    """Each map as it is asked for; with more than `side` tokens, of blocks' largest."""
    tokens, every = (None if view.as_it_ran else view.kept(trace)), slice(None)
    for layer, head in places:
        tile = overview(trace, layer, head, rows=every, keys=every, size=side, tokens=tokens)
        yield tile.values


def _n_cells(trace: Trace, layer: int) -> int:
    return trace.layers[layer].q.shape[1] * trace.layers[layer].k.shape[1]


def _left_out(asked: list[HeadPlace], kept: list[HeadPlace]) -> str:
    missing = sorted(set(asked) - set(kept))
    if not missing:
        return ""
    layer, head = missing[0]
    return (
        f"{len(kept)} of {len(asked)} heads fit here. For others, such as head {layer}.{head}: "
        f"trace.show(layer={layer}, head={head}), or max_bytes= for more."
    )


def _height(trace: Trace) -> int:
    lines = min(7, 1 + sum(len(token) + 3 for token in trace.tokens[:600]) // 110)
    return 480 + 30 * lines + min(420, 15 * trace.n_tokens)
