"""The form on top of the page: what to run, on which model, with examples one click away."""

from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.data_classes import ImageData

from viz_encoder.ui.state.examples import EXAMPLES, opening_of
from viz_encoder.ui.state.models import Models


def picture_box(**options: Any) -> gr.Image:
    """A picture box of which a handler gets the path."""
    box = gr.Image(type="filepath", image_mode=None, **options)
    box.preprocess = _path  # type: ignore[method-assign]
    return box


def _path(payload: ImageData | None) -> str | None:
    return None if payload is None else payload.path


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
            load = gr.Button("Load and run", variant="primary", elem_id="viz-load", **small)
            download = gr.Button(
                "Download", variant="primary", visible=False, elem_id="viz-download", **small
            )
            stop = gr.Button("Stop", visible=False, elem_id="viz-stop", **small)
            run = gr.Button("Run", visible=False, elem_id="viz-run-loaded", **small)
        found = gr.HTML("", elem_id="viz-found", apply_default_css=False)
    return OpeningBox(box, cached, name, part, look, load, download, stop, run, found)


KIND_NAMES = {"text": "Text", "pair": "Two texts", "image": "Picture"}


@dataclass(frozen=True)
class Form:
    """The widgets that say what to run."""

    kind: gr.Radio
    text_group: gr.Column
    text_a: gr.Textbox
    text_b: gr.Textbox
    text_model: gr.Dropdown
    picture_group: gr.Column
    picture: gr.Image
    picture_model: gr.Dropdown
    run: gr.Button
    examples: tuple[gr.Button, ...]  # in the order of EXAMPLES
    notice: gr.HTML
    about: gr.HTML
    about_box: gr.Accordion
    opening: OpeningBox | None
    saved: gr.File

    @property
    def inputs(self) -> list[Any]:
        """Inputs of a run, in argument order."""
        texts = [self.kind, self.text_a, self.text_b, self.text_model]
        return [*texts, self.picture, self.picture_model]

    @property
    def shown(self) -> list[Any]:
        """Components shown or hidden with the kind of input, in the order of `reveal`."""
        return [self.text_group, self.text_a, self.text_b, self.picture_group]

    @property
    def filled(self) -> list[Any]:
        """Components that an example or a link fills in: the kind, the input and the models."""
        models = [self.text_model, self.picture_model]
        return [self.kind, self.text_a, self.text_b, self.picture, *self.shown, *models]


def make_form(models: Models) -> Form:
    """Lay the form out: one line with Run at its end, the examples, and what is folded away."""
    with gr.Row(elem_id="viz-form"):
        kind = gr.Radio(
            [(name, key) for key, name in KIND_NAMES.items()],
            value="text",
            label="Input",
            show_label=False,
            container=False,
            elem_id="viz-kind",
        )
        with gr.Row(elem_classes="viz-group") as text_group:
            names = models.names("text")
            opening_text = opening_of(names[0]).text
            text_a, text_b = _text_box("Text", "viz-text-a", opening_text), _text_box("Text B")
            text_model = _model_picker(names, "viz-model")
        with gr.Row(visible=False, elem_classes="viz-group") as picture_group:
            picture = picture_box(
                label="Picture",
                show_label=False,  # it would lie on the words of the box
                sources=["upload", "clipboard"],
                format="png",  # an example keeps its pixels
                height=96,
                elem_id="viz-picture",
            )
            picture_model = _model_picker(models.names("image"), "viz-picture-model")
        run = gr.Button("Run", variant="primary", elem_id="viz-run", scale=0, min_width=96)
        gr.Button("Share", elem_id="viz-link", scale=0, min_width=100)
    notice = gr.HTML("", elem_id="viz-notice", apply_default_css=False)
    with gr.Row(elem_id="viz-tries"):
        examples = _examples()
        with gr.Row(elem_id="viz-more"):
            about_box = gr.Accordion("Model architecture", open=False, elem_id="viz-about-box")
            with about_box:
                about = gr.HTML("", elem_id="viz-about", apply_default_css=False)
            opening = make_opening_box(models)
            saved = _saved_box()
    texts = (text_group, text_a, text_b, text_model)
    pictured = (picture_group, picture, picture_model)
    return Form(kind, *texts, *pictured, run, examples, notice, about, about_box, opening, saved)


def reveal(kind: str) -> tuple[Any, Any, Any, Any]:
    """Show the widgets of this kind of input and hide the others."""
    image, pair = kind == "image", kind == "pair"
    named = gr.update(label="Text A" if pair else "Text")
    return gr.update(visible=not image), named, gr.update(visible=pair), gr.update(visible=image)


def caption(text: str) -> None:
    """A small line of fixed text."""
    gr.HTML(f"<p class='viz-caption'>{text}</p>", apply_default_css=False)


def _text_box(label: str, elem_id: str = "viz-text-b", value: str = "") -> gr.Textbox:
    return gr.Textbox(
        value,
        label=label,
        lines=1,
        max_lines=3,
        autoscroll=False,
        show_label=False,
        container=False,
        scale=4,
        min_width=240,
        placeholder=f"{label}; Enter runs it",
        visible=elem_id != "viz-text-b",
        elem_id=elem_id,
    )


def _examples() -> tuple[gr.Button, ...]:
    with gr.Row(elem_id="viz-examples"):
        caption("Try")
        options: dict[str, Any] = {"size": "sm", "min_width": 60, "scale": 0}
        return tuple(
            gr.Button(each.label, elem_classes="viz-example", **options) for each in EXAMPLES
        )


def _saved_box() -> gr.File:
    with gr.Accordion("Open a saved run", open=False, elem_id="viz-saved-box"):
        return gr.File(
            label="A .safetensors file from trace.save(path)",
            file_types=[".safetensors"],
            type="filepath",
            height=110,
            elem_id="viz-saved",
        )


def _model_picker(names: list[str], elem_id: str) -> gr.Dropdown:
    value = next(iter(names), None)
    return gr.Dropdown(
        names,
        value=value,
        label="Model",
        show_label=False,
        container=False,
        scale=1,
        min_width=190,
        elem_id=elem_id,
    )
