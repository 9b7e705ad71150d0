"""A careful picture box: it hands over the file's path undecoded, for our own reader has limits.

It is a function, not a subclass: Gradio writes a stub file beside the source of every subclass of
its components, which an installed package must not do.
"""

from typing import Any

import gradio as gr
from gradio.data_classes import ImageData


def picture_box(**options: Any) -> gr.Image:
    """A picture box of which a handler gets the path."""
    box = gr.Image(type="filepath", image_mode=None, **options)
    box.preprocess = _path  # type: ignore[method-assign]
    return box


def _path(payload: ImageData | None) -> str | None:
    return None if payload is None else payload.path
