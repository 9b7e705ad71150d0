"""Files of what is on screen: a page, tables, the saved run or code, named by what they hold."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import Response
from jaxtyping import Float

from viz_encoder.analyses.compare import Comparison
from viz_encoder.attribution.attribution import Attribution
from viz_encoder.audit.mask_input.capture_code import InputSource
from viz_encoder.effects.outcome import Outcome
from viz_encoder.errors import SelectionError, TooLong
from viz_encoder.export import csv_lines, draw_page, npz_bytes, snippet
from viz_encoder.export.snippet import quoted_source, run_lines
from viz_encoder.export.tables import (
    BLOCK_ROWS,
    map_lines,
    map_said,
    reference_name,
    sides_of,
)
from viz_encoder.result import npz_file
from viz_encoder.trace import Trace
from viz_encoder.trace.map_change import Signed, SignedTile, signed_tile
from viz_encoder.trace.map_view import MapView
from viz_encoder.ui.state.attributed import RUN, attribution_of, outcome_of
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire import bytes as answers

KINDS = ("html", "csv", "npz", "safetensors", "py")
TABLES = ("csv", "npz", "py")  # of numbers with signs
ALL = slice(None)
Pair = tuple[int | None, int | None]
MAX_TOKENS = 2048  # for a whole map as a table; one row has no limit


def named_file(
    entry: Entry, kind: str, view: MapView, pair: Pair, question: Mapping[str, Any]
) -> Response:
    """The file of that kind: of the map; html opens on a query, a key and a question, if given.

    Raises:
        SelectionError: no such kind or query.
        TooLong: a whole map as a table, of more tokens than a table is made for.
    """
    answers.require_kind(kind, KINDS)
    content = _content(entry, kind, view, pair, question)
    changed = "" if kind == "safetensors" else _changes(view)
    return answers.download(content, f"{_stem(entry.trace, view)}{changed}.{kind}")


@dataclass(frozen=True)
class SignedFile:
    """A map of numbers with signs as a file: their name, what they are, and code that gives them.

    tile: a part of it, uncut, by its `rows`, in units of `whole`. code: Python that gives an array
    of that name.
    """

    name: str
    said: str
    tile: Callable[..., SignedTile]
    code: Callable[[], str]
    whole: float = 1.0

    def answer(self, entry: Entry, kind: str, view: MapView) -> Response:
        """The file of that kind.

        Raises:
            SelectionError: no such kind, or no such numbers.
            TooLong: more tokens than a table is made for.
        """
        answers.require_kind(kind, TABLES)
        trace = entry.trace
        _require_fits(trace)
        which, *done = map_said(view).split("; ")
        if self.name == "share":  # shares are added up
            which = which.replace("mean", "sum").replace("max", "sum")
        said = "; ".join([f"{which}, {self.said}", *done])
        content: bytes | Iterable[str]
        if kind == "py":
            content = f"# {said}\n{self.code()}".encode()
        elif kind == "csv":
            content = map_lines(trace, view, said, self._blocks(trace, view))
        else:
            values = np.concatenate(list(self._blocks(trace, view)))
            sides = sides_of(trace, view, view.kept(trace))
            content = npz_file({self.name: values, "said": np.array(said), **sides})
        return answers.download(content, f"{_stem(trace, view)}-{self.name}{_changes(view)}.{kind}")

    def _blocks(self, trace: Trace, view: MapView) -> Iterator[Float[np.ndarray, "query key"]]:
        for start in range(0, len(view.kept(trace)), BLOCK_ROWS):
            yield self.tile(rows=slice(start, start + BLOCK_ROWS)).values / self.whole


def change_file(found: Comparison, view: MapView, code: Callable[[], str]) -> SignedFile:
    """The signed map, this run − the reference: shares of a query's total.

    NaN where a mask forbids the pair in either run, or a token has no partner in the reference.
    """
    tile = partial(found.tile, view.layer, view.head, size=MAX_TOKENS, **view.switches)
    return SignedFile("change", f"change from {reference_name(found)}", tile, code)


def signed_file(
    name: str, said: str, signed: Signed, found: Attribution, code: Callable[[], str]
) -> SignedFile:
    """A map of parts of a score, as the page has them: of the whole where that says much."""
    whole, of = found.score if found.large else 1.0, f"{found.score:.6g} in {found.unit}"
    said += f", as a part of the whole, {of}" if found.large else f", in {found.unit} (in all {of})"
    tile = partial(signed_tile, signed, keys=ALL, size=MAX_TOKENS)
    return SignedFile(name, said, tile, code, whole)


def change_code(entry: Entry, other: Entry, view: MapView) -> str:
    """Python that gives the change from the other run."""
    given = {"size": entry.trace.n_tokens} | {name: on for name, on in view.switches.items() if on}
    options = ", ".join(f"{name}={value!r}" for name, value in given.items())
    call = f"vz.analyses.compare(trace, other).tile({view.layer}, {view.head!r}, {options})"
    return _written(["", *_run(entry), *_run(other, "other"), f"change = {call}.values"])


def share_code(entry: Entry, question: Mapping[str, Any], view: MapView) -> str:
    """Python that gives what each link of the map carried of a score."""
    kept = {"hide_special": view.hide_special, "words": view.words}
    switched = "".join(f", {name}=True" for name, on in kept.items() if on)
    chosen = f"MapView({view.layer}, {view.head!r}{switched})"
    tile = f"signed_tile(LinkMap(found, {chosen}), slice(None), slice(None), trace.n_tokens)"
    imports = [
        "from viz_encoder.attribution.link_map import LinkMap",
        "from viz_encoder.trace.map_change import signed_tile",
        "from viz_encoder.trace.map_view import MapView",
    ]
    part = _part_of(entry, question)
    last = [f"share = {tile}.values{part}"]
    if isinstance(view.head, int) and not switched and "against" not in question:
        imports, last = [], [f"share = found.links({view.layer}, {view.head}){part}"]
    return _written([*imports, "", *_attributed(entry, question), *last])


def effect_code(entry: Entry, question: Mapping[str, Any], view: MapView, query: int) -> str:
    """Python that gives what the score changes by without each link of a query."""
    source = _source(entry)
    if source is None or not source[1]:
        raise SelectionError("Effects are told in Python of a text or picture without padding.")
    cut = f"[({view.layer}, {view.head}, {query}, key) for key in range(trace.n_tokens)]"
    call = f"vz.effects.links(encoder, {quoted_source(source[0])}, cut, measure=found)"
    lines = _attributed(entry, question)
    effect = f"effect = {call}.values{_part_of(entry, question)}"
    return _written(["", *lines, f"cut = {cut}", effect])


def _part_of(entry: Entry, question: Mapping[str, Any]) -> str:
    return " / found.score" if attribution_of(entry, dict(question)).large else ""


def _attributed(entry: Entry, question: Mapping[str, Any]) -> list[str]:
    lines, given = _run(entry), dict(question)
    if not any(line.startswith("encoder = ") for line in lines):
        model = entry.loads_as or entry.trace.origin.model
        lines = [f"encoder = vz.load({model!r})", *lines]
    if other := RUN.fullmatch(str(given.get("against"))):
        lines += _run(entry.store.get(other[1]), "other")
    asked = [f"{n}={'other' if n == 'against' and other else repr(v)}" for n, v in given.items()]
    return [*lines, f"found = vz.attribute({', '.join(['encoder', 'trace', *asked])})"]


def _run(entry: Entry, name: str = "trace") -> list[str]:
    source = _source(entry)
    if source is None:
        return run_lines(Path(f"{name}.safetensors"), name=name)
    codes = [change.code for change in entry.recipe.changes]
    return run_lines(source[0], source[1], changes=codes, name=name)


def _written(lines: list[str]) -> str:
    path = ["from pathlib import Path"] if any("Path(" in line for line in lines) else []
    return "\n".join([*path, "import viz_encoder as vz", *dict.fromkeys(lines), ""])


def _stem(trace: Trace, view: MapView) -> str:
    heads = view.head if isinstance(view.head, tuple) else (view.head,)
    return f"{answers.plain_name(trace.origin.model)}-{view.layer}.{'-'.join(map(str, heads))}"


def _changes(view: MapView) -> str:
    said = {
        "-no-special": view.hide_special,
        "-renormalized": view.renormalize,
        "-words": view.words,
    }
    return "".join(text for text, is_so in said.items() if is_so)


def _content(
    entry: Entry, kind: str, view: MapView, pair: Pair, question: Mapping[str, Any]
) -> bytes | Iterable[str]:
    trace = entry.trace
    if kind == "py":
        return _code(entry, view).encode()
    if kind == "html":
        code = _code(entry, view)
        found = attribution_of(entry, dict(question)) if question else None
        changed = _changed(entry)
        more: dict[str, Any] = {"snippet": code, "changed": changed, "explained": found}
        return draw_page(trace, view, query=pair[0], key=pair[1], **more)
    if kind == "safetensors":
        return _saved(trace)
    _require_fits(trace)
    return npz_bytes(trace, view) if kind == "npz" else csv_lines(trace, view)


def _changed(entry: Entry) -> tuple[list[str], Outcome] | None:
    if not entry.recipe.changes:
        return None
    return [change["words"] for change in entry.changes_said], outcome_of(entry)


def _require_fits(trace: Trace) -> None:
    if trace.n_tokens > MAX_TOKENS:
        raise TooLong(
            f"This run has {trace.n_tokens:,} tokens; a whole map is given as a table up to "
            f"{MAX_TOKENS:,}. Use the saved run."
        )


def _code(entry: Entry, view: MapView) -> str:
    """Python that gives the map again, from the model and the text; else from the saved run."""
    source = _source(entry)
    if source is None:
        said = "# run.safetensors is this run, saved from the page.\n"
        return said + snippet(Path("run.safetensors"), view)
    read, model = source
    said = "# Replace picture.png with your own picture's file.\n" if isinstance(read, Path) else ""
    codes = [change.code for change in entry.recipe.changes]
    return said + snippet(read, view, model=model, changes=codes)


def _source(entry: Entry) -> tuple[InputSource, str] | None:
    """What the run read, and its model; None where only the saved run gives it again."""
    trace, recipe = entry.trace, entry.recipe
    read = None if entry.reading is None else entry.reading.inputs.samples[0]
    texts = (read or trace.sample).texts
    readable = texts or trace.grid is not None
    if not entry.loads_as or recipe.mask or recipe.pad or not readable:
        return None
    if not texts:
        return Path("picture.png"), entry.loads_as
    return (texts[0], texts[1]) if len(texts) > 1 else texts[0], entry.loads_as


def _saved(trace: Trace) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.safetensors"
        trace.save(path)
        return path.read_bytes()
