"""Offline page: the atlas, every head's map, and one exact map, in a single HTML file."""

import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.overview import Tile, overview
from viz_encoder.bundled import asset
from viz_encoder.effects.outcome import Outcome
from viz_encoder.errors import SelectionError, TraceError
from viz_encoder.export.document import as_text, digest, filled, strip_facts
from viz_encoder.export.modules import join_modules
from viz_encoder.export.quantize import PackedMaps, pack
from viz_encoder.export.tables import kept_keys, kept_queries, view_note, word_name, word_of
from viz_encoder.figures.theme import head_name
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import SCALES, MapView
from viz_encoder.trace.token_selection import key_names
from viz_encoder.version import __version__

MAX_BYTES = 5_000_000
OFFLINE = asset("web/offline")
TITLE = "Attention of each layer and head"
EXACT_SIDE = 512  # cells a side of the chosen map: at most 1 MiB


def draw_page(
    trace: Trace,
    view: MapView,
    *,
    query: int | None = None,
    snippet: str = "",
    changed: tuple[Sequence[str], Outcome] | None = None,
) -> bytes:
    """The whole file. It opens from a disk, and its policy forbids it any network.

    All heads are there in 8 bits (see `pack` for how near they are, which the page says too): cell
    by cell up to 256 tokens, else the largest weight of each block. The chosen map is float32, cell
    by cell up to 512 tokens. Where that would be over 5 MB, the other maps get coarser.

    Args:
        trace: the run.
        view: the chosen map, and what it hides, renormalizes and merges; the other maps are whole.
            Its scale is that of all colors.
        query: a row to mark, if any.
        snippet: Python that gives the chosen map again, to be shown on the page.
        changed: for a run with changes, each change in words, and their effect on the output.
    """
    require_proven(trace)
    if view.scale not in SCALES:
        named = ", ".join(SCALES)
        raise SelectionError(f"There is no color scale {view.scale[:20]!r}; choose {named}.")
    chosen, values = _chosen(trace, view, query)
    exact = as_text(zlib.compress(values.astype("<f4").tobytes()))
    facts = _facts(trace) | {"chosen": chosen, "snippet": snippet, "changed": _changed(changed)}
    scale = SCALES[view.scale]
    facts["scale"] = {"name": view.scale, "measures": scale.measures, "says": scale.says}
    room = MAX_BYTES - len(exact) - len(_filled(facts | {"layers": [], "levels": 0}, "", ""))
    packed = pack(trace, lambda found: _taken(trace, found) <= room)
    facts |= {"levels": packed.levels, "layers": _layers(trace, packed)}
    return _filled(facts, as_text(packed.compressed), exact)


def require_proven(trace: Trace) -> None:
    """Refuse to show maps that are known not to be the ones that ran."""
    proof = trace.proof
    if proof.checked and not proof.passed:
        raise TraceError(f"The maps are not shown, because their check failed. {proof.sentence}")


def document(name: str, *, pictures: bool = False, **parts: str) -> str:
    """The template of that name with its script, its style and what else it holds, in one text.

    Its Content-Security-Policy blocks the network and allows only this script and this style, and
    embedded pictures if `pictures` is set.
    """
    script = join_modules(OFFLINE / f"{name}.js", OFFLINE.parent)
    style = _asset("strip.css") + _asset(f"{name}.css")
    rules = [f"style-src {digest(style)}", *(["img-src data:"] if pictures else [])]
    return filled(_asset(f"{name}.html"), script, style, rules, parts)


def _facts(trace: Trace) -> dict[str, Any]:
    origin, proof = trace.origin, trace.proof
    cross = next((at for at, layer in enumerate(trace.layers) if layer.cross), None)
    return {
        "facts": {
            "Model": origin.model,
            "Layers": str(trace.n_layers),
            "Heads": str(trace.n_heads),
            "Tokens": f"{trace.n_tokens:,}",
            "Ran on": f"{origin.device}, {origin.dtype}, kernel {origin.kernel}",
            "Written by": f"viz_encoder {__version__}",
        },
        "proof": proof.sentence,
        "passed": proof.passed,
        "notes": list(dict.fromkeys((*trace.sample.notes, *trace.notes))),
        **strip_facts(trace),
        "others": [] if cross is None else list(key_names(trace, cross)),
    }


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


def _layers(trace: Trace, packed: PackedMaps) -> list[dict[str, Any]]:
    return [
        {
            "cross": layer.cross,
            "counts": [layer.q.shape[1], layer.k.shape[1]],
            "shape": list(shape[1:]),
            "tops": tops.tolist(),
        }
        for layer, shape, tops in zip(trace.layers, packed.shapes, packed.tops, strict=True)
    ]


def as_kept(trace: Trace, view: MapView) -> dict[str, Any]:
    """The names along the sides of a map that hides or merges tokens, and their numbers."""
    rows, keys = kept_queries(trace, view), kept_keys(trace, view)
    sides = (trace.tokens, rows), (key_names(trace, view.layer), keys)
    segments = trace.sample.segments
    return {
        "counts": [len(rows), len(keys)],
        "names": [[word_name(names, entry) for entry in side] for names, side in sides],
        "numbers": [[_numbers(entry) for entry in side] for _, side in sides],
        "segments": [segments[entry[0]] for entry in rows] if segments else [],
        "special": [trace.sample.special[entry[0]] for entry in rows],
        "queries": [entry[0] for entry in rows],
    }


def _numbers(tokens: Sequence[int]) -> str:
    """A token's number, or the first and last of a word's."""
    return str(tokens[0]) if len(tokens) == 1 else f"{tokens[0]}–{tokens[-1]}"


def _chosen(
    trace: Trace, view: MapView, query: int | None
) -> tuple[dict[str, Any], Float[np.ndarray, "row col"]]:
    """The chosen map in words, and its cells."""
    everything, kept = slice(None), kept_queries(trace, view)
    tile = overview(
        trace,
        view.layer,
        view.head,
        rows=everything,
        keys=everything,
        size=EXACT_SIDE,
        tokens=kept,
        renormalize=view.renormalize,
    )
    chosen = _as_it_ran(trace, view, tile)
    if not view.as_it_ran:
        note = view_note(trace, view)
        chosen |= as_kept(trace, view) | {"head": None, "note": note}
    if query is not None:
        merged = word_of(trace, query, view.words)
        chosen["query"] = kept.index(merged) if merged in kept else None
    return chosen, tile.values


def _as_it_ran(trace: Trace, view: MapView, tile: Tile) -> dict[str, Any]:
    ran = trace.layers[view.layer]
    return {
        "layer": view.layer,
        "head": view.head if isinstance(view.head, int) else None,
        "name": head_name(view.layer, view.head),
        "shape": list(tile.values.shape),
        "cross": ran.cross,
        "counts": [ran.q.shape[1], ran.k.shape[1]],
        "query": None,
    }


def _taken(trace: Trace, packed: PackedMaps) -> int:
    return len(json.dumps(_layers(trace, packed))) + -(-len(packed.compressed) // 3) * 4


def _filled(facts: dict[str, Any], maps: str, exact: str) -> bytes:
    """The template with its parts; in the facts no character can open or close a tag."""
    told = json.dumps(facts, allow_nan=False).replace("<", "\\u003c")
    pictures = bool(facts["picture"])
    parts = {"title": TITLE, "facts": told, "maps": maps, "exact": exact}
    return document("page", pictures=pictures, **parts).encode("utf-8")


def _asset(name: str) -> str:
    return (OFFLINE / name).read_text(encoding="utf-8")
