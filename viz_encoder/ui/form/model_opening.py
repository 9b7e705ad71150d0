"""Opening another model from the page: look it up, see what it takes, load it, or stop that."""

import html
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from viz_encoder.checkpoints import HubModel, Plan
from viz_encoder.errors import SelectionError, VizEncoderError
from viz_encoder.ui.form.form import OpeningBox
from viz_encoder.ui.form.model_panel import hub_panel, in_words, model_panel, plan_panel
from viz_encoder.ui.state.limits import Limits
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.wire.errors import alert
from viz_encoder.ui.wire.watch import watched

PRIVATE: dict[str, Any] = {"api_visibility": "private"}
QUICK: dict[str, Any] = {"queue": False, "show_progress": "hidden", **PRIVATE}
HUB_QUEUE: dict[str, Any] = {"concurrency_limit": 4, "concurrency_id": "hub"}  # a slow network
SAME = [gr.skip()] * 4  # leaves the other outputs of a load unchanged
Buttons = tuple[Any, Any, Any]  # Load and Download, of which one is shown, and Run
# What the form holds, if anything, runs on a model that was loaded: then that button is there.
RUN_LOADED = """() => requestAnimationFrame(() => {
  const picture = document.querySelector("#viz-kind input:checked")?.value === "image";
  const typed = document.querySelector("#viz-text-a textarea")?.value.trim();
  if (picture || typed) document.getElementById("viz-run-loaded")?.click();
})"""
KEPT: Buttons = (gr.skip(), gr.skip(), gr.skip())


@dataclass
class Opening:
    """Opens a model for a page, one at a time per page."""

    models: Models
    limits: Limits
    stops: dict[str, threading.Event] = field(default_factory=dict)
    inspected: dict[str, str] = field(default_factory=dict)  # the hub's model that a page shows
    ready: dict[str, str] = field(default_factory=dict)  # the model a page loads next

    def connect(self, box: OpeningBox, shown: list[Any], model_queue: dict[str, Any]) -> None:
        """Let the box's events run these; `shown` is what a loaded model changes on the form."""
        given, showing = [box.name, box.part], {"show_progress_on": box.found, **PRIVATE}
        buttons = [box.load, box.download, box.run]
        looked, loaded = [box.found, *buttons], [box.found, *shown, *buttons]

        def run(begun: Any, work: Any, filled: list[Any], queue: dict[str, Any]) -> Any:
            return begun.then(work, given, filled, **showing, **queue)

        chosen = box.cached.input(lambda name: name, box.cached, box.name, **QUICK)
        inspecting = [
            each(self.begin, None, box.stop, **QUICK) for each in (chosen.then, box.look.click)
        ]
        done = [run(begun, self.look, looked, HUB_QUEUE) for begun in inspecting]
        loading = [(each, self.find) for each in (box.load.click, box.name.submit)]
        for click, work in (*loading, (box.download.click, self.download)):
            begun = click(self.begin, None, box.stop, **QUICK)
            there = run(begun, work, looked, HUB_QUEUE)
            came = there.then(self.load, box.part, loaded, **showing, **model_queue)
            came.then(None, None, None, js=RUN_LOADED, **QUICK)
            done.append(came)
        for each in done:
            each.then(lambda: gr.update(visible=False), None, box.stop, **QUICK)
        box.name.change(self.changed, box.name, looked, **QUICK)
        box.box.expand(self.cached, None, box.cached, **QUICK)
        box.stop.click(self.stop, None, None, queue=False, **PRIVATE)

    def cached(self) -> Any:
        """Models in the Hub's local cache, read when the box is opened."""
        try:
            choices = [(_line(plan), plan.card.name) for plan in self.models.cached()]
        except VizEncoderError:
            choices = []
        return gr.update(choices=choices, visible=bool(choices))

    def look(
        self,
        name: str,
        part: str,
        request: gr.Request,
        progress: gr.Progress = gr.Progress(),  # noqa: B008  (Gradio finds it in the signature)
    ) -> tuple[Any, ...]:
        """Look up a model and what loading it would take; then offer Load or Download."""
        try:
            return self.find(name, part, request, progress)
        finally:
            self.stops.pop(request.session_hash or "", None)

    def find(
        self,
        name: str,
        part: str,
        request: gr.Request,
        progress: gr.Progress = gr.Progress(),  # noqa: B008
    ) -> tuple[Any, ...]:
        """Like `look`; loads next if nothing has to be downloaded."""
        session = request.session_hash or ""
        self.inspected.pop(session, None)
        try:
            found = self.models.look(name, part, self._teller(request, progress, "Looking …"))
        except VizEncoderError as fault:
            return alert(str(fault)), *_buttons()
        if isinstance(found, HubModel):
            self.inspected[session] = name.strip()
            return hub_panel(found), *_buttons(found)
        self.ready[session] = name
        return plan_panel(found), *_buttons()

    def download(
        self,
        name: str,
        part: str,
        request: gr.Request,
        progress: gr.Progress = gr.Progress(),  # noqa: B008
    ) -> tuple[Any, ...]:
        """Bring a model that the page has shown; it is loaded next."""
        session = request.session_hash or ""
        if not isinstance(name, str) or self.inspected.get(session) != name.strip():
            return self.find(name, part, request, progress)
        try:
            tell = self._teller(request, progress, "Downloading …")
            self.ready[session] = self.models.download(name, part, tell)
        except VizEncoderError as fault:
            return alert(str(fault)), *KEPT
        return gr.skip(), *_buttons()

    def load(
        self,
        part: str,
        request: gr.Request,
        progress: gr.Progress = gr.Progress(),  # noqa: B008
    ) -> tuple[Any, ...]:
        """Load what is there and choose it; on a fault all stays as it was, and it is said."""
        ready = self.ready.pop(request.session_hash or "", "")
        if not ready:
            self.stops.pop(request.session_hash or "", None)
            return gr.skip(), *SAME, *KEPT
        tell = self._teller(request, progress, "Loading …")
        try:
            listed = self.models.open(ready, part, tell)
            encoder = self.models.get(listed, tell=tell)
        except VizEncoderError as fault:
            return alert(str(fault)), *SAME, *_buttons()
        except MemoryError:
            return alert("The model does not fit into memory."), *SAME, *_buttons()
        finally:
            self.stops.pop(request.session_hash or "", None)
        if encoder.reader is None:
            why = VECTORS if encoder.kind == "vector" else NO_TOKENIZER
            return alert(why) + model_panel(self.models, listed), *SAME, *_buttons()
        kind = encoder.kind
        said = f'<p class="viz-caption" role="status">{html.escape(listed)} is loaded.</p>'
        chosen = {kind: listed}
        return (
            said,
            kind if kind == "image" else "text",
            self.choices("text", chosen.get("text")),
            self.choices("image", chosen.get("image")),
            model_panel(self.models, listed),
            *_buttons(loaded="picture" if kind == "image" else "text"),
        )

    def choices(self, kind: str, chosen: str | None = None) -> Any:
        """The list of models as it is now, with one chosen where that is meant."""
        names = self.models.names(kind)
        return gr.update(choices=names, value=chosen) if chosen else gr.update(choices=names)

    def changed(self, name: str | None, request: gr.Request) -> tuple[Any, ...]:
        """Another name: what was shown of the hub is no longer what Download would bring."""
        session = request.session_hash or ""
        if self.inspected.get(session) in (None, (name or "").strip()):
            return gr.skip(), *KEPT
        del self.inspected[session]
        return "", *_buttons()

    def begin(self, request: gr.Request) -> Any:
        """A click, before its turn has come: from here on Stop counts."""
        session = request.session_hash or ""
        self.stops[session] = threading.Event()
        self.ready.pop(session, None)
        return gr.update(visible=True)

    def stop(self, request: gr.Request) -> None:
        """End the loading of this page at the next tensor."""
        if (stop := self.stops.get(request.session_hash or "")) is not None:
            stop.set()

    def _teller(
        self, request: gr.Request, progress: gr.Progress, words: str
    ) -> Callable[[float], None]:
        stop = self.stops.setdefault(request.session_hash or "", threading.Event())
        check = watched(self.limits)

        def tell(share: float) -> None:
            check()  # a page that was closed
            if stop.is_set():
                raise SelectionError("Stopped; nothing was kept.")
            progress(share, desc=words)

        return tell


def _buttons(found: HubModel | None = None, loaded: str = "") -> Buttons:
    """Load, or Download for a model of the hub; Run where one was loaded, for a text or picture."""
    size = "" if found is None or found.n_bytes is None else f" {in_words(found.n_bytes)}"
    download = gr.update(visible=found is not None, value=f"Download{size}")
    run = gr.update(visible=bool(loaded), value=f"Run your {loaded} on it")
    return gr.update(visible=found is None), download, run


def _line(plan: Plan) -> str:
    return f"{plan.card.name} · {plan.card.family} · {in_words(plan.n_bytes)} in memory"


NO_TOKENIZER = (
    "This model has no tokenizer, so the page cannot read texts for it. Put its tokenizer.json "
    "in the folder, or give token ids in Python: "
    "viz_encoder.launch(viz_encoder.capture(viz_encoder.load(folder), ids))."
)
VECTORS = (
    "This model reads vectors, so the page has nothing to give it. In Python: "
    "viz_encoder.launch(viz_encoder.capture(viz_encoder.load(folder), tensor))."
)
