"""Two parts of the page that stock Gradio lacks: the attention view, and a careful picture box.

They are functions, not subclasses: Gradio writes a stub file beside the source of every subclass
of its components, which an installed package must not do.
"""

from typing import Any

import gradio as gr
from gradio.data_classes import ImageData

MOUNT = """
const { mount } = await import(new URL("viz/static/SCRIPT", document.baseURI).href);
mount(element.querySelector(".viz-root"), () => props.value, watch, trigger);
"""


def script_view(script: str, **options: Any) -> gr.HTML:
    """A part of the page that one script of assets draws; what it exports as `mount` is called.

    mount gets the element to fill, a way to read the component's value, one to watch it, and one
    to fire Gradio's events, such as trigger("change", data).
    """
    return gr.HTML(
        value="",
        html_template='<div class="viz-root"></div>',
        js_on_load=f"(async () => {{ {MOUNT.replace('SCRIPT', script)} }})();",
        apply_default_css=False,
        **options,
    )


def picture_box(**options: Any) -> gr.Image:
    """A picture box that hands over the file's path undecoded: our own reader has the limits."""
    box = gr.Image(type="filepath", image_mode=None, **options)
    box.preprocess = _path  # type: ignore[method-assign]
    return box


def _path(payload: ImageData | None) -> str | None:
    return None if payload is None else payload.path
