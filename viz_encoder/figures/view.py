"""View: a figure and its controls as plain data, so that page, command line and notebook agree."""

from collections.abc import Callable
from dataclasses import dataclass

import plotly.graph_objects as go


@dataclass(frozen=True)
class Control:
    """One option of a view: its keyword, its label, and its choices where they are fixed."""

    name: str
    label: str
    choices: tuple[str, ...] = ()  # empty: a whole number within the run


@dataclass(frozen=True)
class View:
    """A way to draw a run."""

    name: str
    title: str
    draw: Callable[..., go.Figure]
    controls: tuple[Control, ...] = ()
    takes: tuple[str, ...] = ("trace",)  # what is drawn, in order: "encoder", "trace", "inputs"


LAYER = Control("layer", "Layer")
HEAD = Control("head", "Head")
QUERY = Control("query", "Query")
