"""The widgets of "Open another model": a folder, what was downloaded before, or the hub."""

from dataclasses import dataclass
from typing import Any

import gradio as gr

from viz_encoder.ui.state.models import Models

PARTS = [("Auto", ""), ("Text half", "text"), ("Image half", "vision")]


@dataclass(frozen=True)
class OpeningBox:
    """The widgets that open another model; there are none where the server opens none."""

    box: gr.Accordion
    cached: gr.Dropdown
    name: gr.Textbox
    part: gr.Dropdown
    look: gr.Button
    load: gr.Button
    download: gr.Button
    stop: gr.Button
    run: gr.Button
    found: gr.HTML


def make_opening_box(models: Models) -> OpeningBox | None:
    """Lay the box out; None where this server opens nothing."""
    if not models.local:
        return None
    small: dict[str, Any] = {"size": "sm", "min_width": 70}
    with gr.Accordion("Open another model", open=False, elem_id="viz-opening") as box:
        cached = gr.Dropdown(
            [], label="Already downloaded", visible=False, elem_id="viz-cached", filterable=True
        )
        name = gr.Textbox(
            label="A folder on this computer, or a model on the Hugging Face hub",
            placeholder="bert-base-uncased",
            max_lines=1,
            elem_id="viz-open-name",
        )
        part = gr.Dropdown(PARTS, value="", label="Text or image half (CLIP, SigLIP)")
        with gr.Row():
            look = gr.Button("Inspect", elem_id="viz-look", **small)
            load = gr.Button("Load", variant="primary", elem_id="viz-load", **small)
            download = gr.Button(
                "Download", variant="primary", visible=False, elem_id="viz-download", **small
            )
            stop = gr.Button("Stop", visible=False, elem_id="viz-stop", **small)
            run = gr.Button("Run", visible=False, elem_id="viz-run-loaded", **small)
        found = gr.HTML("", elem_id="viz-found", apply_default_css=False)
    return OpeningBox(box, cached, name, part, look, load, download, stop, run, found)
