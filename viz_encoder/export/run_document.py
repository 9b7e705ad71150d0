"""The document of a run, an exported page or a notebook's cell: its words, lines and maps."""

import json
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from viz_encoder.effects.rerun import HeadPlace
from viz_encoder.errors import TraceError
from viz_encoder.export.document import as_text, document, strip_facts
from viz_encoder.export.quantize import LEVELS, Steps
from viz_encoder.export.tables import kept_keys, view_note, word_name
from viz_encoder.shown import counted
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import SCALES, MapView
from viz_encoder.trace.token_selection import key_names
from viz_encoder.version import __version__

UNEXPLAINED = {"offline/explained.js": "offline/unexplained.js"}
HOW_TITLED = "Attention of each layer and head, and how the answer got there"
SPARE = 200  # bytes by which a document may grow, besides its maps


def require_proven(trace: Trace) -> None:
    """Refuse to show maps that are known not to be the ones that ran."""
    proof = trace.proof
    if proof.checked and not proof.passed:
        raise TraceError(f"The maps are not shown, because their check failed. {proof.sentence}")


def run_document(
    trace: Trace,
    view: MapView,
    steps: Steps | None,
    *,
    places: list[HeadPlace],
    opening: tuple[int, Any, int],
    key: int | None = None,
    chosen: dict[str, Any] | None = None,
    exact: bytes = b"",
    left_out: str = "",
    snippet: str = "",
    changed: dict[str, Any] | None = None,
    explained: dict[str, Any] | None = None,
) -> str:
    """The whole document; the network is blocked in it.

    Args:
        trace: the run.
        view: what is hidden and merged in the maps, and the scale of colors.
        steps: the maps; None to see how large the document is without them.
        places: their layers and heads.
        opening: layer, head and query.
        key: that is read there, too, if any.
        chosen: what is said of one more map, which is exact.
        exact: its cells, float32.
        left_out: which heads have no room.
        snippet: Python that gives the chosen map again.
        changed: for a run with changes, these and their effect.
        explained: how a score got there; without it, the document lacks what draws that.
    """
    sides = {} if view.as_it_ran else {ran.cross: at for at, ran in enumerate(trace.layers)}
    kept = {cross: as_kept(trace, replace(view, layer=at)) for cross, at in sides.items()}
    said = [view_note(trace, view)] if kept else []
    scale = SCALES[view.scale]
    facts = {
        "title": f"{model_of(trace)}: {sizes_of(trace)}",
        "about": _about(trace),
        "proof": trace.proof.sentence,
        "passed": trace.proof.passed,
        "notes": list(dict.fromkeys((*said, *trace.sample.notes, *trace.notes))),
        "others": _others(trace),
        **strip_facts(trace),
        "scale": {"name": view.scale, "measures": scale.measures, "says": scale.says},
        "levels": steps.levels if steps else LEVELS[0],
        "maps": _maps(trace, steps, places, kept),
        "kept": [kept.get(False), kept.get(True)],
        "heads": [ran.n_heads for ran in trace.layers],
        "left_out": left_out,
        "opening": dict(zip(("layer", "head", "query"), opening, strict=True))
        | ({} if key is None else {"key": key}),
        "chosen": chosen,
        "snippet": snippet,
        "changed": changed,
        "explained": explained,
    }
    parts = {
        "title": HOW_TITLED if explained else "Attention of each layer and head",
        "facts": as_text(zlib.compress(json.dumps(facts, allow_nan=False).encode(), 9)),
        "maps": as_text(steps.compressed if steps else b""),
        "exact": as_text(zlib.compress(exact)),
    }
    rules = ["img-src data:"] if facts["picture"] else []
    if explained:
        return document("offline/document", parts, *rules, styles=("views/routes.css",))
    return document("offline/document", parts, *rules, instead=UNEXPLAINED)


def _about(trace: Trace) -> str:
    origin = trace.origin
    return (
        f"Ran on {origin.device}, {origin.dtype}, kernel {origin.kernel}; viz_encoder {__version__}"
    )


def _others(trace: Trace) -> list[str]:
    """The keys of a layer that attends to another sequence."""
    cross = next((at for at, layer in enumerate(trace.layers) if layer.cross), None)
    return [] if cross is None else list(key_names(trace, cross))


def _maps(
    trace: Trace, steps: Steps | None, places: list[HeadPlace], kept: dict[bool, dict[str, Any]]
) -> list[dict[str, Any]]:
    count = len(places)
    shapes = steps.shapes if steps else [(0, 0)] * count
    tops = steps.tops if steps else [1 / (3 + at) for at in range(count)]  # with as many digits
    every = zip(places, shapes, tops, strict=True)
    return [
        _map(trace, kept, place) | {"shape": list(shape), "top": top} for place, shape, top in every
    ]


def _map(trace: Trace, kept: dict[bool, dict[str, Any]], place: HeadPlace) -> dict[str, Any]:
    layer, head = place
    ran = trace.layers[layer]
    counts = kept[ran.cross]["counts"] if kept else [ran.q.shape[1], ran.k.shape[1]]
    return {"layer": layer, "head": head, "cross": ran.cross, "counts": counts}


def as_kept(trace: Trace, view: MapView) -> dict[str, Any]:
    """The names along the sides of a map that hides or merges tokens, and their numbers."""
    rows, keys = view.kept(trace), kept_keys(trace, view)
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


def model_of(trace: Trace) -> str:
    """The model's name, with what its weights are."""
    weights, model = trace.origin.weights, trace.origin.model
    return f"{model} ({weights})" if weights not in model else model


def sizes_of(trace: Trace) -> str:
    """The numbers of layers, heads and tokens."""
    sizes = f"{counted(trace.n_layers, 'layer')} × {counted(trace.n_heads, 'head')}"
    return f"{sizes}, {counted(trace.n_tokens, 'token')}"
