"""Downloads: what is on screen as a file or as code, from routes beside the numbers' own."""

import re
import tempfile
from pathlib import Path
from typing import Any, TypedDict

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from viz_encoder.errors import SelectionError, TooLong
from viz_encoder.export import csv_lines, draw_page, npz_bytes, snippet
from viz_encoder.trace import Trace
from viz_encoder.ui.state.store import Entry, TraceStore
from viz_encoder.ui.wire.numbers import parse_head, parse_index

ROWS = ("csv", "npz")  # kinds that hold one query's row alone, where one is given
MAX_TOKENS = 2048  # of a whole map as a table; one row goes at any length
TYPES = {
    "html": "text/html; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "npz": "application/octet-stream",
    "safetensors": "application/octet-stream",
    "py": "text/x-python; charset=utf-8",
}


class Kept(TypedDict):
    """Which tokens a file keeps and merges, as the exports name it."""

    special: bool
    renormalize: bool
    words: bool


def make_download_router(store: TraceStore, route_class: type[Any]) -> APIRouter:
    """The routes of one store, under /viz/run/{key}/take."""
    router = APIRouter(prefix="/viz/run/{key}/take", route_class=route_class)

    @router.get("/{kind}")
    async def take(
        key: str,
        kind: str,
        layer: int,
        head: str,
        query: int | None = None,
        special: bool = True,
        renorm: bool = False,
        words: bool = False,
        scale: str = "head",
    ) -> Response:
        """A file of the map, or of one query's row; html is the whole run, safetensors too.

        scale is that of html's colors, as `draw_page` has it.
        """
        if kind not in TYPES:
            raise SelectionError(f"There is no download {kind[:20]!r}; choose {', '.join(TYPES)}.")
        entry = store.get(key)
        parse_index("layer", layer, entry.trace.n_layers)
        if query is not None:
            parse_index("query", query, entry.trace.n_tokens)
        kept = Kept(special=special, renormalize=renorm, words=words)
        content = await run_in_threadpool(_content, entry, kind, layer, head, query, kept, scale)
        stem = f"{_plain_name(entry.trace.origin.model)}-{layer}.{_plain_name(head)}"
        row = "" if query is None or kind not in ROWS else f"-query-{query}"
        name = f"{stem}{row}{'' if kind == 'safetensors' else _changes(kept)}.{kind}"
        headers = {
            "cache-control": "no-store",
            "content-disposition": f'attachment; filename="{name}"',
            "x-content-type-options": "nosniff",
        }
        return Response(content, media_type=TYPES[kind], headers=headers)

    return router


def _changes(kept: Kept) -> str:
    """What a file's name says of hidden, renormalized and merged tokens."""
    said = {
        "-no-special": not kept["special"],
        "-renormalized": kept["renormalize"],
        "-words": kept["words"],
    }
    return "".join(text for text, is_so in said.items() if is_so)


def _content(
    entry: Entry, kind: str, layer: int, head: str, query: int | None, kept: Kept, scale: str
) -> bytes:
    trace, chosen = entry.trace, parse_head(head, entry.trace)
    if kind == "py":
        return _code(entry, layer, head, query, kept).encode("utf-8", "backslashreplace")
    if kind == "html":
        code = _code(entry, layer, head, query, kept)
        return draw_page(trace, layer, chosen, query=query, snippet=code, scale=scale, **kept)
    if kind == "safetensors":
        return _saved(trace)
    if query is None and trace.n_tokens > MAX_TOKENS:
        raise TooLong(
            f"This run has {trace.n_tokens:,} tokens; a whole map is given as a table up to "
            f"{MAX_TOKENS:,}. Take the chosen query's row, or the saved run."
        )
    if kind == "npz":
        return npz_bytes(trace, layer, chosen, query=query, **kept)
    lines = csv_lines(trace, layer, chosen, query=query, **kept)
    return "".join(lines).encode("utf-8", "backslashreplace")


def _code(entry: Entry, layer: int, head: str, query: int | None, kept: Kept) -> str:
    """Python that gives the view again, from the model and the text; else from the saved run."""
    trace, chosen = entry.trace, parse_head(head, entry.trace)
    texts = trace.sample.texts
    if entry.encoder is None or (not texts and trace.grid is None):
        said = "# run.safetensors is this run, saved from the page.\n"
        return said + snippet(Path("run.safetensors"), layer, chosen, query=query, **kept)
    card = entry.encoder.card
    model = card.source if Path(card.source).is_dir() else card.name
    if not texts:
        said = "# Name your own picture's file in place of picture.png.\n"
        return said + snippet(Path("picture.png"), layer, chosen, model=model, query=query, **kept)
    source = (texts[0], texts[1]) if len(texts) > 1 else texts[0]
    return snippet(source, layer, chosen, model=model, query=query, **kept)


def _saved(trace: Trace) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.safetensors"
        trace.save(path)
        return path.read_bytes()


def _plain_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)[:60] or "run"
