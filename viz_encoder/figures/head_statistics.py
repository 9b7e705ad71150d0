"""One statistic of every head, as a layer × head heatmap."""

from typing import Annotated

import numpy as np
import plotly.graph_objects as go

from viz_encoder.analyses.survey import survey
from viz_encoder.arguments import OneOf
from viz_encoder.figures.theme import WEIGHTS, apply, caption, head_axes, weight_bar
from viz_encoder.figures.view import drawn
from viz_encoder.trace import Trace
from viz_encoder.trace.head_statistics import STATISTICS, said
from viz_encoder.trace.token_selection import shown_tokens


@drawn(
    "A head statistic, by layer and head",
    look="Look for the heads that stand out; the color is one number per head.",
)
def head_statistics(
    trace: Trace,
    *,
    statistic: Annotated[str, OneOf(STATISTICS)] = "entropy",
    hide_special: bool = False,
    renormalize: bool = False,
) -> go.Figure:
    """The mean over the real queries of each head; the color scale names the unit.

    Args:
        trace: the run.
        statistic: a name of `viz_encoder.trace.head_statistics.STATISTICS`.
        hide_special, renormalize: as in `viz_encoder.analyses.survey`.

    Raises:
        SelectionError: no such statistic.
    """
    named = STATISTICS[statistic]
    switches = {"hide_special": hide_special, "renormalize": renormalize}
    real = trace.valid.cpu().numpy()
    kept = [at for (at,) in shown_tokens(trace, hide_special=hide_special) if real[at]]
    ran = trace.layers[0]
    n_keys = ran.k.shape[1] if ran.cross else None
    words = said(np.array(kept, np.int64), **switches, n_keys=n_keys)[statistic]
    most = f"; at most {words['most']:.2f}" if words["most"] != 1 else ""
    values = np.stack([layer.statistics[statistic] for layer in survey(trace, **switches)])
    figure = go.Figure(
        go.Heatmap(
            z=values,
            colorscale=WEIGHTS,
            colorbar=weight_bar(f"{named.title} ({named.unit}{most})"),
            hovertemplate="%{y}.%{x}: %{z:.4g}<extra></extra>",
        )
    )
    apply(figure, f"{named.title} by layer and head")
    if hide_special or renormalize:
        caption(figure, f"{words['over']} {words['edge']}".strip())
    head_axes(figure)
    return figure
