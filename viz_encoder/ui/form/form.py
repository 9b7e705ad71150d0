"""The form on the left: what to run, on which model, with examples one click away."""

from dataclasses import dataclass
from typing import Any

import gradio as gr

from viz_encoder.ui.form.opening_box import OpeningBox, make_opening_box
from viz_encoder.ui.form.picture_box import picture_box
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.state.runner import MASKED, PICTURES, SENTENCES

KIND_NAMES = {"text": "Text", "pair": "Two texts", "image": "Picture"}


@dataclass(frozen=True)
class Form:
    """The widgets that say what to run."""

    kind: gr.Radio
    text_group: gr.Column
    text_a: gr.Textbox
    text_b: gr.Textbox
    sentences: tuple[gr.Button, ...]
    masked: gr.Button
    text_model: gr.Dropdown
    picture_group: gr.Column
    picture: gr.Image
    pictures: tuple[gr.Button, ...]
    picture_model: gr.Dropdown
    run: gr.Button
    notice: gr.HTML
    about: gr.HTML
    about_box: gr.Accordion
    opening: OpeningBox | None
    saved: gr.File

    @property
    def inputs(self) -> list[Any]:
        """What a run reads, in the order of its arguments."""
        texts = [self.kind, self.text_a, self.text_b, self.text_model]
        return [*texts, self.picture, self.picture_model]

    @property
    def shown(self) -> list[Any]:
        """What is shown or hidden when the kind of input changes, in the order of `reveal`."""
        return [self.text_group, self.text_a, self.text_b, self.picture_group]


def make_form(models: Models) -> Form:
    """Lay the form out."""
    kind = gr.Radio(
        [(name, key) for key, name in KIND_NAMES.items()],
        value="text",
        label="Input",
        elem_id="viz-kind",
    )
    with gr.Column(elem_classes="viz-group") as text_group:
        text_a, text_b, sentences = _text_boxes()
        masked = gr.Button(f"{MASKED[0]} ({MASKED[1]})", size="sm", elem_classes="viz-example")
        text_model = _model_picker(models.names("text"), "viz-model")
    with gr.Column(visible=False, elem_classes="viz-group") as picture_group:
        picture, pictures = _picture_boxes()
        picture_model = _model_picker(models.names("image"), "viz-picture-model")
    run = gr.Button("Run", variant="primary", elem_id="viz-run")
    notice = gr.HTML("", elem_id="viz-notice", apply_default_css=False)
    caption("Or press Ctrl + Enter.")
    about_box = gr.Accordion("Model architecture", open=False, elem_id="viz-about-box")
    with about_box:
        about = gr.HTML("", elem_id="viz-about", apply_default_css=False)
    opening = make_opening_box(models)
    with gr.Accordion("Open a saved run", open=False):
        saved = gr.File(
            label="A .safetensors file from trace.save(path)",
            file_types=[".safetensors"],
            type="filepath",
            height=110,
            elem_id="viz-saved",
        )
    texts = (text_group, text_a, text_b, sentences, masked, text_model)
    pictured = (picture_group, picture, pictures, picture_model)
    return Form(kind, *texts, *pictured, run, notice, about, about_box, opening, saved)


def reveal(kind: str) -> tuple[Any, Any, Any, Any]:
    """Show the widgets of this kind of input and hide the others."""
    image, pair = kind == "image", kind == "pair"
    named = gr.update(label="Text A" if pair else "Text")
    return gr.update(visible=not image), named, gr.update(visible=pair), gr.update(visible=image)


def caption(text: str) -> None:
    """A small line of fixed text."""
    gr.HTML(f"<p class='viz-caption'>{text}</p>", apply_default_css=False)


def _text_boxes() -> tuple[gr.Textbox, gr.Textbox, tuple[gr.Button, ...]]:
    text_a = gr.Textbox(SENTENCES[0], label="Text", lines=3, max_lines=12, elem_id="viz-text-a")
    text_b = gr.Textbox(label="Text B", lines=3, max_lines=12, visible=False, elem_id="viz-text-b")
    caption("Examples")
    buttons = (gr.Button(text, size="sm", elem_classes="viz-example") for text in SENTENCES)
    return text_a, text_b, tuple(buttons)


def _picture_boxes() -> tuple[gr.Image, tuple[gr.Button, ...]]:
    picture = picture_box(
        label="Picture",
        sources=["upload", "clipboard"],
        height=220,
        elem_id="viz-picture",
    )
    caption("Examples")
    with gr.Row():
        buttons = tuple(gr.Button(name, size="sm", elem_classes="viz-example") for name in PICTURES)
    return picture, buttons


def _model_picker(names: list[str], elem_id: str) -> gr.Dropdown:
    return gr.Dropdown(names, value=next(iter(names), None), label="Model", elem_id=elem_id)
