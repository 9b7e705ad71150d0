"""One statistic of every head, as a layer × head heatmap."""

import numpy as np
import plotly.graph_objects as go

from viz_encoder.analyses.survey import survey
from viz_encoder.errors import SelectionError
from viz_encoder.figures.theme import WEIGHTS, apply, weight_bar
from viz_encoder.figures.view import Control, View
from viz_encoder.trace import Trace
from viz_encoder.trace.head_statistics import STATISTICS


def draw(trace: Trace, *, statistic: str = "entropy") -> go.Figure:
    """The mean over the real queries of each head; the color scale names the unit.

    Raises:
        SelectionError: no such statistic.
    """
    if statistic not in STATISTICS:
        raise SelectionError(
            f"There is no statistic {statistic!r}; choose one of {', '.join(STATISTICS)}."
        )
    named = STATISTICS[statistic]
    n_real = int(trace.valid.sum())
    most = f"; at most {named.most(n_real):.2f}" if named.most(n_real) != 1 else ""
    values = np.stack([layer.statistics[statistic] for layer in survey(trace)])
    figure = go.Figure(
        go.Heatmap(
            z=values,
            colorscale=WEIGHTS,
            colorbar=weight_bar(f"{named.title} ({named.unit}{most})"),
            hovertemplate="%{y}.%{x}: %{z:.4g}<extra></extra>",
        )
    )
    apply(figure, f"{named.title} by layer and head")
    figure.update_xaxes(title="Head", side="top", dtick=1, showgrid=False, zeroline=False)
    figure.update_yaxes(
        title="Layer", autorange="reversed", dtick=1, showgrid=False, zeroline=False
    )
    return figure


CHOICE = Control("statistic", "Statistic", tuple(STATISTICS))
VIEW = View(
    "head_statistics",
    "A head statistic, by layer and head",
    draw,
    (CHOICE,),
    look="Look for the heads that stand out; the color is one number for each head, "
    "a mean over its queries.",
)
