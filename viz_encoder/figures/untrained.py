"""The mark of an untrained encoder in a figure's title, whichever view draws it."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import plotly.graph_objects as go

Arguments = ParamSpec("Arguments")
MARK = "untrained: random weights"


def marked(draw: Callable[Arguments, go.Figure]) -> Callable[Arguments, go.Figure]:
    """Wrap a figure function to mark the title of untrained runs and encoders."""

    @wraps(draw)
    def marking(*given: Arguments.args, **options: Arguments.kwargs) -> go.Figure:
        figure = draw(*given, **options)
        if any(_is_untrained(each) for each in (*given, *options.values())):
            said = figure.layout.title.text or ""
            figure.update_layout(title_text=f"{said} ({MARK})" if said else MARK)
        return figure

    return marking


def _is_untrained(given: object) -> bool:
    origin, card = getattr(given, "origin", None), getattr(given, "card", None)
    return bool(getattr(origin, "weights", "")) or getattr(card, "untrained", False) is True
