"""LiveView: Explore in a notebook's cell; its selection is set and observed from Python."""

import asyncio
import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from viz_encoder.arguments import read_index
from viz_encoder.attribution import attribute
from viz_encoder.bundled import asset
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import SelectionError, TraceError
from viz_encoder.export.document import INLINE, OF_TABS, document
from viz_encoder.export.save import save
from viz_encoder.result import Columns, TableResult
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import Head, MapView, heads_of
from viz_encoder.trace.notebook_cell import Cell, ShownOnce
from viz_encoder.trace.token_selection import query_of
from viz_encoder.ui.notebook.kernel import Kernel
from viz_encoder.ui.wire.arguments import parse_head

SHARED = ("layer", "head", "query", "key", "measure")
SWITCHES = {"words": "words", "hide_special": "hide"}  # as the page calls them
MEASURES = ("attention", "contribution", "effect")
# The static cell below a live view, which hides it (widget.js). Where the notebook is opened
# without its kernel, it stands in place of JupyterLab's "Error displaying widget: model not found".
BELOW = (
    "<style>.jp-OutputArea-child:has(+ .jp-OutputArea-child [data-viz-still])"
    " .jupyter-widgets:not(:has(*)){{display:none}}</style>"
    "<div data-viz-still='{name}'>{cell}</div>"
)


def joined(head: Any, _: Any = None) -> Any:
    """Several heads joined by commas, as the page has them; here they are a tuple."""
    return ",".join(map(str, head)) if isinstance(head, tuple | list) else head


@dataclass(frozen=True, repr=False)
class Selected(TableResult):
    """What is selected in a live view: one link of one map, and its weight.

    layer, head: the map; several heads are a tuple, for which the weight is their mean. query, key:
    the numbers of the tokens. query_token, key_token: the tokens. measure: what the view shows.
    weight: the attention from the query to the key, 0 to 1; 0 where a mask forbids it.
    """

    layer: int
    head: Head
    query: int
    query_token: str
    key: int
    key_token: str
    measure: str
    weight: float

    def columns(self) -> Columns:
        """One row."""
        return {name: [value] for name, value in vars(self).items()}


class LiveView(ShownOnce, anywidget.AnyWidget):
    """Explore in a notebook's cell, of one run; what it shows is computed here when asked for.

    layer, head, query, key and measure are what is selected: set them, or `observe` them. head is a
    number, "mean", "max" or several; query and key are also set by a token's name; measure is
    "attention", "contribution" or "effect", the last two of which need the model.
    """

    _esm = asset("web/explore/notebook/widget.js")
    layer = traitlets.Int(0).tag(sync=True)
    head = traitlets.Any(0).tag(sync=True, to_json=joined)
    query = traitlets.Any(0).tag(sync=True)
    key = traitlets.Any(0).tag(sync=True)
    measure = traitlets.Unicode("attention").tag(sync=True)
    _run = traitlets.Unicode("").tag(sync=True)  # its key, once something was changed in it
    _title = traitlets.Unicode("").tag(sync=True)
    _still = traitlets.Unicode("").tag(sync=True)  # shown until the kernel answers, or if none does
    _height = traitlets.Int(600).tag(sync=True)
    _name = traitlets.Unicode("").tag(sync=True)  # of the static cell below

    def __init__(
        self,
        trace: Trace,
        cell: Cell,
        place: Mapping[str, Any],
        encoder: LoadedEncoder | None = None,
        **kept: bool,
    ) -> None:
        """A view that opens on a place; the cell is what it is where no kernel runs.

        kept: words and hide_special, as it opens.
        """
        self._first, self._encoder, self._cell, self._kept = trace, encoder, cell, kept
        self._asked: dict[str, asyncio.Task[None]] = {}
        still = {"_title": cell.title, "_still": cell.document, "_height": cell.height}
        still["_name"] = uuid4().hex
        super().__init__(**place, **still)
        self.on_msg(self._heard)

    @property
    def trace(self) -> Trace:
        """The run that is shown: the one that was given, or what was made of it by changes."""
        return self._kernel.trace(self._run) if self._run else self._first

    @property
    def selection(self) -> Selected:
        """What is selected, as a table of one row: `.to_frame()` for pandas."""
        trace, (layer, head) = self.trace, (self.layer, self.head)
        row = slice(self.query, self.query + 1)
        weights = trace.attention(layer, rows=row)[heads_of(trace, layer, head), 0, self.key]
        weight = float(weights.max() if head == "max" else weights.double().mean())
        query, key = trace.tokens[self.query], trace.tokens[self.key]
        return Selected(layer, head, self.query, query, self.key, key, self.measure, weight)

    def save(self, path: str | Path) -> int:
        """Write the shown map to a .png, .svg or .pdf, or all heads to an .html for any browser.

        The .html tells how the query's final state got there, too, where the model is known and
        that state can be split.

        Raises:
            SelectionError: no such kind of file.
            TraceError: the file cannot be written, or what draws it is not installed.
        """
        view = replace(MapView(self.layer, self.head), **self._kept)  # type: ignore[arg-type]
        if Path(path).suffix != ".html":
            return save(self.trace, Path(path), view)
        found = None
        if self._encoder is not None:
            with contextlib.suppress(SelectionError, TraceError):  # a run that cannot be split
                found = attribute(self._encoder, self.trace, of="state", token=self.query)
        return save(self.trace, Path(path), view, query=self.query, explained=found)

    def __repr__(self) -> str:
        """One line."""
        return f"<live view of {self._cell.title}>"

    def _repr_mimebundle_(self, **named: Any) -> Any:
        """The widget, and the static cell for where widgets are unknown."""
        static = next(self._cell.outputs())
        return {**self._widget, **static, "text/plain": repr(self)}, {}

    def outputs(self) -> Iterator[dict[str, Any]]:
        """The widget, and the static cell for where no kernel runs: a saved notebook, nbviewer."""
        yield {**self._widget, "text/html": "", "text/plain": repr(self)}
        static = next(self._cell.outputs())
        yield {**static, "text/html": BELOW.format(name=self._name, cell=static["text/html"])}

    @property
    def _widget(self) -> dict[str, Any]:
        bundle, _ = super()._repr_mimebundle_() or ({}, {})
        return dict(bundle)

    @traitlets.validate("layer", "head", "query", "key", "measure")
    def _checked(self, proposed: Any) -> Any:
        name, value, trace = proposed["trait"].name, proposed["value"], self.trace
        if name == "layer":
            return read_index("layer", value, trace.n_layers)
        if name == "head":
            return parse_head(joined(value), trace)
        if name in ("query", "key"):
            return query_of(trace, value, name)
        if value not in MEASURES:
            raise SelectionError(
                f"There is no measure {value!r}; choose one of {', '.join(MEASURES)}."
            )
        return value

    @cached_property
    def _kernel(self) -> Kernel:
        return Kernel(self._first, self._encoder)

    def _heard(self, _: Any, content: dict[str, Any], buffers: Any) -> None:
        number = content["id"]
        if content.get("stop"):
            if task := self._asked.pop(number, None):
                task.cancel()
            return
        work = self._answer(number, content["path"], content.get("body"))
        try:
            task = self._asked[number] = asyncio.get_running_loop().create_task(work)
        except RuntimeError:  # a kernel without a loop
            asyncio.run(work)
        else:
            task.add_done_callback(lambda _: self._asked.pop(number, None))

    async def _answer(self, number: str, path: str, body: str | None) -> None:
        if path == "page":
            place = {name: joined(getattr(self, name)) for name in SHARED}
            place |= {SWITCHES[name]: on for name, on in self._kept.items()}
            content = live_document(place).encode()
            return self.send({"id": number, "status": 200, "more": False}, [content])
        async with contextlib.aclosing(self._kernel.answer(path, body)) as parts:
            async for part in parts:
                self.send({"id": number, "more": part.more, **part.about}, [part.content])


INSTEAD = {
    "core/wire.js": "explore/notebook/kernel.js",
    "explore/early_place.js": "explore/notebook/left_out.js",
    "explore/any_view.js": "explore/notebook/left_out.js",
}


def live_document(place: Mapping[str, Any]) -> str:
    """The whole document; it opens on this layer, head, query, key and measure."""
    parts = {"place": json.dumps(place).replace("<", "\\u003c")}
    rules, styles = (
        (INLINE, "img-src blob: data:"),
        (*OF_TABS, "views/routes.css", "explore/tab.css"),
    )
    return document("explore/notebook/page", parts, *rules, styles=styles, instead=INSTEAD)
