"""One offline page: the atlas, the map of every head, and one map exact, in a single HTML file."""

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Sequence
from typing import Any

from viz_encoder import __version__
from viz_encoder.analyses.overview import Head, Tile, overview
from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError, TraceError
from viz_encoder.export.quantize import Packed, pack
from viz_encoder.export.tables import (
    kept_keys,
    kept_queries,
    key_tokens,
    view_note,
    word_name,
    word_of,
)
from viz_encoder.figures.theme import WEIGHTS, head_name
from viz_encoder.trace import Trace

MAX_BYTES = 5_000_000
EXACT_SIDE = 512  # cells a side of the chosen map: at most 1 MiB
SCALES = {  # what the colors of a map go up to; the names are the page's own
    "head": "linear, up to this map's largest weight",
    "row": "linear, each row up to its own largest weight",
    "layer": "linear, up to the largest weight of this layer's heads",
    "all": "linear, up to the largest weight of all heads",
    "shared": "linear, 0 to 1 for every head",
    "log": "logarithmic, the same for every head",
}


def draw_page(
    trace: Trace,
    layer: int,
    head: Head,
    *,
    query: int | None = None,
    snippet: str = "",
    special: bool = True,
    renormalize: bool = False,
    words: bool = False,
    scale: str = "head",
) -> bytes:
    """The whole file. It opens from a disk, and its policy forbids it any network.

    All heads are there in 8 bits (see `pack` for how near they are, which the page says too): cell
    by cell up to 256 tokens, else the largest weight of each block. The chosen map is float32, cell
    by cell up to 512 tokens. Where that would be over 5 MB, the other maps get coarser.

    Args:
        trace: the run.
        layer: of the chosen map, counted from 0.
        head: of the chosen map: one head, "mean" or "max" over all, or several.
        query: a row to mark, if any.
        snippet: Python that gives the chosen map again, to be shown on the page.
        special, renormalize, words: what the chosen map keeps and merges, as in `csv_lines`; the
            other maps are whole.
        scale: of the colors, a name of `SCALES`.

    Raises:
        SelectionError: no such layer, head, query or scale.
        TraceError: the check of the maps failed, so they are not shown.
    """
    proof = trace.proof
    if proof.checked and not proof.passed:
        raise TraceError(f"The maps are not shown, for their check failed. {proof.sentence}")
    if scale not in SCALES:
        raise SelectionError(f"There is no color scale {scale[:20]!r}; choose {', '.join(SCALES)}.")
    everything, kept = slice(None), kept_queries(trace, special, words)
    tile = overview(
        trace,
        layer,
        head,
        rows=everything,
        keys=everything,
        size=EXACT_SIDE,
        tokens=kept,
        renormalize=renormalize,
    )
    exact = _text(zlib.compress(tile.values.astype("<f4").tobytes()))
    chosen = _chosen(trace, tile, layer, head)
    if not special or renormalize or words:
        note = view_note(trace, special, renormalize, words)
        chosen |= _as_kept(trace, layer, special, words) | {"head": None, "note": note}
    if query is not None:
        merged = word_of(trace, query, words)
        chosen["query"] = kept.index(merged) if merged in kept else None
    facts = _facts(trace) | {"chosen": chosen, "snippet": snippet}
    facts["scale"] = {"name": scale, "says": SCALES[scale]}
    room = MAX_BYTES - len(exact) - len(_filled(facts | {"layers": [], "levels": 0}, "", ""))
    packed = pack(trace, lambda found: _taken(trace, found) <= room)
    facts |= {"levels": packed.levels, "layers": _layers(trace, packed)}
    return _filled(facts, _text(packed.compressed), exact)


def page_size(
    trace: Trace, layer: int, head: Head, *, query: int | None = None, snippet: str = ""
) -> int:
    """Bytes of the file that `draw_page` makes of the same arguments."""
    return len(draw_page(trace, layer, head, query=query, snippet=snippet))


def _facts(trace: Trace) -> dict[str, Any]:
    """All that the page says in words."""
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
        "tokens": list(trace.tokens),
        "special": list(trace.sample.special),
        "others": [] if cross is None else list(key_tokens(trace, cross)),
        "ramp": WEIGHTS,
    }


def _layers(trace: Trace, packed: Packed) -> list[dict[str, Any]]:
    """The shape of each layer's maps, and each map's largest weight."""
    return [
        {
            "cross": layer.cross,
            "counts": [layer.q.shape[1], layer.k.shape[1]],
            "shape": list(shape[1:]),
            "tops": tops.tolist(),
        }
        for layer, shape, tops in zip(trace.layers, packed.shapes, packed.tops, strict=True)
    ]


def _as_kept(trace: Trace, layer: int, special: bool, words: bool) -> dict[str, Any]:
    """The names along the sides of a map that hides or merges tokens, and their numbers."""
    rows, keys = kept_queries(trace, special, words), kept_keys(trace, layer, special, words)
    sides = (trace.tokens, rows), (key_tokens(trace, layer), keys)
    return {
        "counts": [len(rows), len(keys)],
        "names": [[word_name(names, entry) for entry in side] for names, side in sides],
        "numbers": [[_numbers(entry) for entry in side] for _, side in sides],
    }


def _numbers(tokens: Sequence[int]) -> str:
    """A token's number, or the first and last of a word's."""
    return str(tokens[0]) if len(tokens) == 1 else f"{tokens[0]}–{tokens[-1]}"


def _chosen(trace: Trace, tile: Tile, layer: int, head: Head) -> dict[str, Any]:
    ran = trace.layers[layer]
    return {
        "layer": layer,
        "head": head if isinstance(head, int) else None,
        "name": head_name(layer, head),
        "shape": list(tile.values.shape),
        "cross": ran.cross,
        "counts": [ran.q.shape[1], ran.k.shape[1]],
        "query": None,
    }


def _taken(trace: Trace, packed: Packed) -> int:
    """Characters that these maps and what is said of them take."""
    return len(json.dumps(_layers(trace, packed))) + -(-len(packed.compressed) // 3) * 4


def _text(compressed: bytes) -> str:
    """Bytes as the page holds them: zlib, for its DecompressionStream, in base64."""
    return base64.b64encode(compressed).decode("ascii")


def _filled(facts: dict[str, Any], maps: str, exact: str) -> bytes:
    """The template with its parts; in the facts no character can open or close a tag."""
    script, style = _asset("maps.js") + _asset("page.js"), _asset("page.css")
    parts = {
        "policy": f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "base-uri 'none'; form-action 'none'",
        "script": script,
        "style": style,
        "facts": json.dumps(facts, allow_nan=False).replace("<", "\\u003c"),
        "maps": maps,
        "exact": exact,
    }
    template = _asset("page.html")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template).encode("utf-8")


def _asset(name: str) -> str:
    return asset(f"web/offline/{name}").read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """What the policy allows to run or to style: this text and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}'"
