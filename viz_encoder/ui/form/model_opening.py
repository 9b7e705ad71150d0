"""Opening another model from the page: look it up, see what it takes, load it, or stop that."""

import html
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from viz_encoder.errors import SelectionError, VizEncoderError
from viz_encoder.ui.form.model_panel import model_panel, plan_panel
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.wire.errors import alert

PARTS = [("As the file says", ""), ("Text half", "text"), ("Vision half", "vision")]
PRIVATE: dict[str, Any] = {"api_visibility": "private"}


@dataclass(frozen=True)
class OpeningBox:
    """The widgets that open another model; there are none where the server opens none."""

    name: gr.Textbox
    part: gr.Dropdown
    look: gr.Button
    load: gr.Button
    stop: gr.Button
    found: gr.HTML


def make_opening_box(models: Models) -> OpeningBox | None:
    """Lay the box out; None where this server opens nothing."""
    if not (models.folders or models.hub):
        return None
    what = "A folder of this machine" + (", or organization/name on the hub" * models.hub)
    with gr.Accordion("Open another model", open=False, elem_id="viz-opening"):
        name = gr.Textbox(label=what, max_lines=1, elem_id="viz-open-name")
        part = gr.Dropdown(PARTS, value="", label="Of a model with two halves (CLIP, SigLIP)")
        with gr.Row():
            look = gr.Button("Look up", size="sm", min_width=70, elem_id="viz-look")
            load = gr.Button("Load", size="sm", variant="primary", min_width=70, elem_id="viz-load")
            stop = gr.Button("Stop", size="sm", min_width=70, visible=False, elem_id="viz-stop")
        found = gr.HTML("", elem_id="viz-found", apply_default_css=False)
    return OpeningBox(name, part, look, load, stop, found)


@dataclass
class Opening:
    """What happens when a person opens a model; one at a time in each page."""

    models: Models
    stops: dict[str, threading.Event] = field(default_factory=dict)

    def look(
        self,
        name: str,
        part: str,
        request: gr.Request,
        progress: gr.Progress = gr.Progress(),  # noqa: B008  (Gradio finds it in the signature)
    ) -> str:
        """What is there, and what loading it would take."""
        tell = self._teller(request, progress, "Looking …")
        try:
            return plan_panel(self.models.look(name, part, tell))
        except VizEncoderError as fault:
            return alert(str(fault))
        finally:
            self.stops.pop(request.session_hash or "", None)

    def load(
        self,
        name: str,
        part: str,
        request: gr.Request,
        progress: gr.Progress = gr.Progress(),  # noqa: B008
    ) -> tuple[Any, ...]:
        """Load it and choose it; on a fault everything stays as it was, and the fault is said."""
        tell = self._teller(request, progress, "Loading …")
        try:
            listed = self.models.open(name, part, tell)
            kind = self.models.get(listed, tell=tell).kind
        except VizEncoderError as fault:
            return (alert(str(fault)), *[gr.skip()] * 4)
        except MemoryError:
            return (alert("The model does not fit into memory."), *[gr.skip()] * 4)
        finally:
            self.stops.pop(request.session_hash or "", None)
        if kind == "vector":
            return (alert(VECTORS) + model_panel(self.models, listed), *[gr.skip()] * 4)
        said = f'<p class="viz-caption" role="status">{html.escape(listed)} is loaded.</p>'
        chosen = {kind: listed}
        return (
            said,
            kind if kind == "image" else "text",
            self.choices("text", chosen.get("text")),
            self.choices("image", chosen.get("image")),
            model_panel(self.models, listed),
        )

    def choices(self, kind: str, chosen: str | None = None) -> Any:
        """The list of models as it is now, with one chosen where that is meant."""
        names = self.models.names(kind)
        return gr.update(choices=names, value=chosen) if chosen else gr.update(choices=names)

    def begin(self, request: gr.Request) -> Any:
        """A click, before its turn has come: from here on Stop counts."""
        self.stops[request.session_hash or ""] = threading.Event()
        return gr.update(visible=True)

    def stop(self, request: gr.Request) -> None:
        """End the loading of this page at the next tensor."""
        if (stop := self.stops.get(request.session_hash or "")) is not None:
            stop.set()

    def _teller(
        self, request: gr.Request, progress: gr.Progress, words: str
    ) -> Callable[[float], None]:
        stop = self.stops.setdefault(request.session_hash or "", threading.Event())

        def tell(share: float) -> None:
            if stop.is_set():
                raise SelectionError("Stopped; nothing of it was kept.")
            progress(share, desc=words)

        return tell


VECTORS = (
    "This model reads vectors, so the page has nothing to give it. In Python: "
    "viz_encoder.launch(viz_encoder.capture(viz_encoder.load(folder), tensor))."
)
