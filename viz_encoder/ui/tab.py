"""Tab: a part of the page that is a folder in viz_encoder/ui/tabs and one in assets/web."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr
from fastapi import APIRouter

from viz_encoder.ui.form.form import Form
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.wire.static import address, joined

MOUNT = """(async () => {
  const root = element.querySelector(".viz-root");
  try {
    const { MODULES } = await import(new URL("FOLDER", document.baseURI).href);
    MODULES["SCRIPT"].mount(root, () => props.value, watch, trigger);
  } catch (fault) {
    root.textContent = "This part of the page could not be loaded; reload the page.";
    throw fault;
  }
})();"""


@dataclass(frozen=True)
class TabContext:
    """What a tab is built from: the runs, the form on top, and the current run."""

    runner: Runner
    form: Form
    run: gr.HTML  # give it a run's description, and all tabs show that run


@dataclass(frozen=True)
class Tab:
    """A tab: how it is laid out, the routes of its numbers, and its named endpoints.

    `name` is that of both its folders; its script and its style are assets/web/<name>/tab.js and
    tab.css. `endpoints` are functions of the runner and what a client sends.
    """

    name: str
    title: str
    order: int  # tabs stand in this order
    build: Callable[[TabContext], gr.HTML]  # gives the part over which a run's progress is shown
    router: APIRouter | None = None
    endpoints: tuple[Callable[..., Any], ...] = ()


def script_view(script: str, **options: Any) -> gr.HTML:
    """A part of the page that one script of assets/web draws; its `mount` is called.

    mount gets the element to fill, a way to read the component's value, one to watch it, and one
    to fire Gradio's events, such as trigger("change", data). It is a function and no subclass:
    Gradio writes a stub file beside the source of every subclass of its components, which an
    installed package must not do.
    """
    folder = script.partition("/")[0]
    return gr.HTML(
        value="",
        html_template='<div class="viz-root"></div>',
        js_on_load=MOUNT.replace("FOLDER", address(joined(folder))).replace("SCRIPT", script),
        apply_default_css=False,
        **options,
    )
