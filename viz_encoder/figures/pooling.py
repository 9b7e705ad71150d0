"""Poolings compared, for notebooks: of one input, of a set's items, and the table of a set."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz_encoder.analyses.collection import Collection, Separation
from viz_encoder.analyses.pooled import PooledInput
from viz_encoder.errors import SelectionError
from viz_encoder.figures.theme import SIGNED, apply, caption, plain, weight_bar
from viz_encoder.shown import after_blocks

COSINE = "Cosine (−1 … 1,<br>1 = same direction)"
LETTERS = 40  # of an item's text on an axis
HEADS = {
    "method": "Method",
    "state": "After n blocks",
    "silhouette": "Silhouette<br>(−1 … 1)",
    "centroid_accuracy": "Nearest-centroid<br>accuracy",
    "recall_at_1": "Recall@1",
    "within": "Cosine within<br>labels",
    "between": "Cosine between<br>labels",
}


def method_cosines(found: PooledInput, state: int = -1) -> go.Figure:
    """Cosine between the vectors of every two methods; empty where their widths differ.

    Raises:
        SelectionError: the state was not run.
    """
    wanted = found.states[-1] if state == -1 else state
    if wanted not in found.states:
        raise SelectionError(
            f"State {state} was not run; choose one of {', '.join(map(str, found.states))}."
        )
    values = found.cosines[found.states.index(wanted)]
    names = list(found.methods)
    figure = _matrix(values, names, f"Cosine between poolings {after_blocks(wanted)}", "Method")
    figure.update_traces(text=np.round(values, 2), texttemplate="%{text}")
    caption(figure, "Measured: whether two poolings of one input point the same way.")
    return figure


def item_cosines(found: Collection, method: str, state: int = -1) -> go.Figure:
    """Cosine of every two items of a set, ordered by label and then as they were given.

    Raises:
        SelectionError: no such method or state in the set.
    """
    cosine, labels = found.cosine(method, state), found.labels
    order = sorted(range(len(found.items)), key=lambda item: labels[item]) if labels else None
    at = list(range(len(found.items))) if order is None else order
    names = [_name(found, item) for item in at]
    wanted = found.states[-1] if state == -1 else state
    title = f"Cosine of every pair of items: {method}, {after_blocks(wanted)}"
    figure = _matrix(cosine[np.ix_(at, at)], names, title, "Item, by label" if labels else "Item")
    caption(figure, f"Vectors of {found.model}. Items are not centered; all may share a direction.")
    for number in range(1, len(at) if labels else 0):
        if labels[at[number]] != labels[at[number - 1]]:
            for line in (figure.add_hline, figure.add_vline):
                line(number - 0.5, line={"width": 1})
    return figure


def pooling_table(rows: Sequence[Separation]) -> go.Figure:
    """Every method at every state as `Collection.table()` sorted them; – where it is undefined."""
    cells = [[_cell(getattr(row, name)) for row in rows] for name in HEADS]
    figure = go.Figure(
        go.Table(
            header={"values": list(HEADS.values()), "align": "left"},
            cells={"values": cells, "align": "left"},
        )
    )
    apply(figure, "Which pooling at which state tells the labels apart")
    return figure


def _matrix(values: np.ndarray, names: list[str], title: str, axis: str) -> go.Figure:
    figure = go.Figure(
        go.Heatmap(
            z=values,
            colorscale=SIGNED,
            zmin=-1,
            zmax=1,
            colorbar=weight_bar(COSINE),
            customdata=[[[a, b] for b in names] for a in names],
            hovertemplate="%{customdata[0]}<br>%{customdata[1]}<br>cosine %{z:.6f}<extra></extra>",
            hoverongaps=False,
        )
    )
    apply(figure, title)
    ticks = {"tickvals": list(range(len(names))), "ticktext": names, "showgrid": False}
    figure.update_xaxes(title=axis, side="top", tickangle=-60, automargin=True, **ticks)
    figure.update_yaxes(title=axis, autorange="reversed", automargin=True, **ticks)
    return figure


def _name(found: Collection, item: int) -> str:
    name, label = found.items[item].name, found.items[item].label
    short = name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"
    return plain(f"{item} {short}{f' ({label})' if label else ''}")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "–" if value != value else f"{value:.3f}"
    return str(value)
