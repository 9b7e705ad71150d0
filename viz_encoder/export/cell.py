"""The document of a notebook's cell: words, lines and maps of a run, all in one text."""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from viz_encoder.arguments import Token, public
from viz_encoder.effects.heads import HeadPlace
from viz_encoder.errors import SelectionError
from viz_encoder.export.document import as_text, strip_facts
from viz_encoder.export.page import as_kept, document, require_proven
from viz_encoder.export.quantize import FINE, LEVELS, Steps, pack_maps
from viz_encoder.export.save import save
from viz_encoder.export.still import choose_opening, still
from viz_encoder.export.tables import view_note
from viz_encoder.shown import counted
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import MapView
from viz_encoder.trace.notebook_cell import Cell
from viz_encoder.trace.token_selection import key_names, query_of
from viz_encoder.version import __version__

MAX_BYTES = 1_000_000
Bytes = Annotated[float, "a number of bytes, such as 1_000_000"]
FINE_SHARE = 4  # 16 bits a weight are taken where they need no more than a quarter of the room
WHOLE_CELLS = 12  # maps of more cells than so many times the room are not tried whole
SIDES = (512, 256, 128, 64, 32)  # cells a side, where not even one whole map has room
SIZE = "⟨size⟩"  # stands where the size is written once it is known

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
    title = f"Attention of {_model(trace)}, {_sizes(trace)}"
    blank = _document(trace, view, opening, places, _nothing())
    shown = replace(view, layer=opening[0], head=opening[1])
    empty = Cell(
        blank,
        title,
        _height(trace),
        opening,
        partial(save, trace, view=shown),
        still(trace, shown),
    )
    room = int(max_bytes) - empty.nbytes - 200  # and the digits of its size
    packed = _pack(trace, view, _ordered(places, opening[:2]), room)
    if not packed.tops:
        raise SelectionError(
            f"max_bytes is {max_bytes:,.0f}, which is too small for any map; give more."
        )
    cell = replace(empty, document=_document(trace, view, opening, places, packed))
    size = f"{cell.nbytes / 1000:,.0f} kB"
    return replace(cell, document=cell.document.replace(SIZE, size))


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


@dataclass(frozen=True, eq=False)
class _Packed:
    """Some heads' maps, the first ones of those that were asked for."""

    steps: Steps
    places: list[HeadPlace]

    @property
    def tops(self) -> list[float]:
        return self.steps.tops


def _nothing() -> _Packed:
    return _Packed(Steps(zlib.compress(b""), LEVELS[0], [], []), [])


def _pack(trace: Trace, view: MapView, places: list[HeadPlace], room: int) -> _Packed:
    """Pack maps into the byte budget, as many and as fine as fit; pooled if not one fits whole."""
    whole = max(max(layer.q.shape[1], layer.k.shape[1]) for layer in trace.layers)
    n_bytes = room // 4 * 3  # base64 overhead
    side, cells = whole, sum(_n_cells(trace, layer) for layer, _ in places)
    if _n_cells(trace, places[0][0]) > WHOLE_CELLS * n_bytes:
        side = SIDES[0]
    if cells * 2 <= WHOLE_CELLS * n_bytes // FINE_SHARE:
        found = pack_maps(trace, view, places, side, FINE, n_bytes // FINE_SHARE)
        if len(found.tops) == len(places):
            return _Packed(found, places)
    for levels in LEVELS[:3] if cells <= WHOLE_CELLS * n_bytes else LEVELS[:1]:
        found = pack_maps(trace, view, places, side, levels, n_bytes)
        if len(found.tops) == len(places):
            return _Packed(found, places)
    for coarser in (side, *(each for each in SIDES if each < side)):
        found = pack_maps(trace, view, places, coarser, LEVELS[0], n_bytes)
        if found.tops:
            break
    return _Packed(found, places[: len(found.tops)])


def _n_cells(trace: Trace, layer: int) -> int:
    return trace.layers[layer].q.shape[1] * trace.layers[layer].k.shape[1]


def _document(
    trace: Trace,
    view: MapView,
    opening: tuple[int, int, int],
    asked: list[HeadPlace],
    packed: _Packed,
) -> str:
    sides = {ran.cross: at for at, ran in enumerate(trace.layers)}
    kept = {cross: as_kept(trace, replace(view, layer=at)) for cross, at in sides.items()}
    said = [] if view.as_it_ran else [view_note(trace, view)]
    cross = next((at for at, layer in enumerate(trace.layers) if layer.cross), None)
    layer, head, query = opening
    facts = {
        "title": f"{_model(trace)}: {_sizes(trace)}",
        "version": __version__,
        "proof": trace.proof.sentence,
        "passed": trace.proof.passed,
        "notes": list(dict.fromkeys((*said, *trace.sample.notes, *trace.notes))),
        "others": [] if cross is None else list(key_names(trace, cross)),
        **strip_facts(trace),
        "levels": packed.steps.levels,
        "maps": [each | {"counts": kept[each["cross"]]["counts"]} for each in _maps(trace, packed)],
        "kept": [] if view.as_it_ran else [kept.get(False), kept.get(True)],
        "heads": [ran.n_heads for ran in trace.layers],
        "left_out": _left_out(asked, packed.places),
        "opening": {"layer": layer, "head": head, "query": query},
    }
    text = json.dumps(facts, allow_nan=False, ensure_ascii=False).encode(
        "utf-8", "backslashreplace"
    )
    return document(
        "cell",
        pictures=bool(facts["picture"]),
        facts=as_text(zlib.compress(text, 9)),
        maps=as_text(packed.steps.compressed),
        size=SIZE,
    )


def _maps(trace: Trace, packed: _Packed) -> list[dict[str, Any]]:
    return [
        {
            "layer": layer,
            "head": head,
            "cross": trace.layers[layer].cross,
            "shape": list(shape),
            "top": top,
        }
        for (layer, head), shape, top in zip(
            packed.places, packed.steps.shapes, packed.steps.tops, strict=True
        )
    ]


def _left_out(asked: list[HeadPlace], kept: list[HeadPlace]) -> str:
    missing = sorted(set(asked) - set(kept))
    if not missing:
        return ""
    layer, head = missing[0]
    return (
        f"{len(kept)} of {len(asked)} heads fit here. For others, such as head {layer}.{head}: "
        f"trace.show(layer={layer}, head={head}), or max_bytes= for more."
    )


def _model(trace: Trace) -> str:
    weights, model = trace.origin.weights, trace.origin.model
    return f"{model} ({weights})" if weights not in model else model


def _sizes(trace: Trace) -> str:
    sizes = f"{counted(trace.n_layers, 'layer')} × {counted(trace.n_heads, 'head')}"
    return f"{sizes}, {counted(trace.n_tokens, 'token')}"


def _height(trace: Trace) -> int:
    lines = min(7, 1 + sum(len(token) + 3 for token in trace.tokens[:600]) // 110)
    return 480 + 30 * lines + min(420, 15 * trace.n_tokens)
