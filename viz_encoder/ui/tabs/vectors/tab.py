"""The Vectors tab: the states of one input, their poolings, padding, a set, a learned query."""

from typing import Any

import gradio as gr

from viz_encoder.analyses.attention_pooling import STEPS
from viz_encoder.ui.tab import Tab, TabContext, script_view
from viz_encoder.ui.tabs.vectors.endpoints import ENDPOINTS
from viz_encoder.ui.tabs.vectors.events import PoolingEvents
from viz_encoder.ui.tabs.vectors.routes import ROUTER
from viz_encoder.ui.tabs.vectors.set_items import (
    BUILT_IN,
    EXAMPLES,
    example,
    given_items,
    given_name,
)
from viz_encoder.ui.tabs.vectors.set_runs import ALL, MAX_SEEDS, MAX_STEPS
from viz_encoder.ui.tabs.vectors.states import hidden_states

SET_QUEUE: dict[str, Any] = {"concurrency_limit": 1, "concurrency_id": "set"}
QUICK: dict[str, Any] = {
    "queue": False,
    "show_progress": "hidden",
    "api_visibility": "private",
}
FILES = [".csv", ".tsv", ".txt", ".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif"]
SHIPPED = "all-MiniLM-L6-v2"
SET_WHAT = "What can be given, and who keeps it"
SET_HELP = (
    "One text per line, or a CSV whose first line is text,label (and word, to pool one word of "
    "each text). Texts are read by the text model chosen above, pictures by the picture model; "
    "pictures named like cat_1.png have the label cat. All tabs share this box; its texts "
    "stay in this browser tab, also after a reload or Back. A file of texts fills it."
)
# Of the set that the page begins with, on the model that ships: what is seen before it is made.
BEGINNING = (
    "Best by silhouette: last after 3 blocks, 0.294; nearest-centroid accuracy 0.900 (best: the "
    "model's own pooling after 6 blocks and 13 more, 0.975), recall@1 0.900 (best: received after "
    "6 blocks, 0.975). The model's own pooling after 6 blocks: silhouette 0.144, nearest-centroid "
    "accuracy 0.975, recall@1 0.950."
)
LEARN_HELP = (
    "Training learns a query so that the weighted mean of the tokens tells the labels apart; "
    "the model itself does not change. It learns from the set above if the set has labels, "
    "otherwise from the built-in 40 sentences on 4 topics."
)


def build(place: TabContext) -> gr.HTML:
    """Lay it out from one input to sets, and connect the buttons."""
    events = PoolingEvents(place.runner)
    view = script_view("vectors/tab.js", elem_id="viz-vectors")
    with gr.Column(elem_classes="viz-of-set"):
        shown = _set_part(place, events)
        _learn_part(place, events, shown)
    return view


def _set_part(place: TabContext, events: PoolingEvents) -> gr.HTML:
    """The input of a set above its result; returns the result."""
    lines = gr.Textbox(
        label="Texts, or a CSV with the columns text,label",
        placeholder="text,label\nThe goalkeeper saved two penalties.,sport",
        lines=2,
        max_lines=12,
        elem_id="viz-set-lines",
    )
    with gr.Row(elem_classes="viz-set-buttons"):
        start = gr.Button("Compare", variant="primary", size="sm", elem_id="viz-set-compare")
        stop = gr.Button("Stop", size="sm", visible=False, elem_id="viz-set-stop")
        files = gr.UploadButton(
            "Upload texts or pictures …",
            file_count="multiple",
            file_types=FILES,
            type="filepath",
            size="sm",
            elem_id="viz-set-files",
        )
        buttons = [
            gr.Button(title, size="sm", elem_classes="viz-set-example") for title in EXAMPLES
        ]
    help_ = f"<details><summary>{SET_WHAT}</summary><p class='viz-caption'>{SET_HELP}</p></details>"
    gr.HTML(help_, elem_classes="viz-set-help", apply_default_css=False)
    first = f'<p class="viz-pool-answer">{BUILT_IN}, {SHIPPED}. {BEGINNING}</p>'
    first = first if place.form.text_model.value == SHIPPED else ""
    notice = gr.HTML(first, elem_id="viz-set-notice", apply_default_css=False)
    shown = script_view("vectors/set.js", elem_id="viz-set")
    models = [place.form.text_model, place.form.picture_model]
    sources = [
        (start.click, lines, lambda text: (given_items(text), given_name())),
        (files.upload, files, lambda paths: (given_items("", paths), given_name(paths))),
        *((button.click, button, lambda title: (example(title), title)) for button in buttons),
    ]
    for begun, given, read in sources:
        work = events.comparing(read)
        _connect(begun, stop, work, [given, *models], [shown, notice], events)
    return shown


def _learn_part(place: TabContext, events: PoolingEvents, shown: gr.HTML) -> None:
    with gr.Accordion("Train an attention pooling", open=False, elem_id="viz-learn-box"):
        _learn_controls(place, events, shown)


def _learn_controls(place: TabContext, events: PoolingEvents, shown: gr.HTML) -> None:
    gr.HTML(f"<p class='viz-caption'>{LEARN_HELP}</p>", apply_default_css=False)
    with gr.Row(elem_classes="viz-set-buttons"):
        layer = gr.Textbox(ALL, label="After n blocks", elem_id="viz-learn-layer")
        seeds = gr.Slider(1, MAX_SEEDS, 3, step=1, label="Seeds", elem_id="viz-learn-seeds")
        steps = gr.Slider(
            10, MAX_STEPS, STEPS, step=10, label="AdamW steps", elem_id="viz-learn-steps"
        )
        start = gr.Button("Train", variant="primary", size="sm", elem_id="viz-learn-train")
        stop = gr.Button("Stop", size="sm", visible=False, elem_id="viz-learn-stop")
    notice = gr.HTML("", elem_id="viz-learn-notice", apply_default_css=False)
    learned = script_view("vectors/learn.js", elem_id="viz-learned")
    given = [shown, place.form.text_model, layer, seeds, steps]
    _connect(start.click, stop, events.learn, given, [learned, notice], events)


def _connect(
    begun: Any,
    stop: gr.Button,
    work: Any,
    given: list[Any],
    filled: list[Any],
    events: PoolingEvents,
) -> None:
    """Begin at that event, show Stop while it runs, and hide it at the end."""
    busy = begun(events.begin, None, stop, **QUICK)
    latest = {"trigger_mode": "always_last"}  # a click while one runs is not lost
    options = {"show_progress_on": filled[0], "api_visibility": "private", **latest, **SET_QUEUE}
    done = busy.then(work, given, filled, **options)
    done.then(lambda: gr.update(visible=False), None, stop, **QUICK)
    stop.click(events.stop, None, None, queue=False, api_visibility="private")


TAB = Tab("vectors", "Vectors", 40, build, ROUTER, (hidden_states, *ENDPOINTS))
