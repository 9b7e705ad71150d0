"""Tab: a part of the page that is one file in viz_encoder/ui/tabs."""

from collections.abc import Callable
from dataclasses import dataclass

import gradio as gr

from viz_encoder.ui.form.form import Form
from viz_encoder.ui.state.runner import Runner


@dataclass(frozen=True)
class Place:
    """What a tab is built into: the runs, the form on the left, and the view that shows a run."""

    runner: Runner
    form: Form
    view: gr.HTML  # give it a run's description, and all tabs show that run


@dataclass(frozen=True)
class Tab:
    """A tab beside Attention; `build` lays it out and connects its events."""

    name: str
    title: str
    order: int  # tabs stand in this order
    build: Callable[[Place], None]
