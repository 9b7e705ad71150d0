"""How a score got to where it was read: tokens across, blocks upward, links as curves."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from viz_encoder.arguments import at_least
from viz_encoder.attribution.attribution import Attribution
from viz_encoder.attribution.routes import Edge, Routes
from viz_encoder.figures.theme import (
    SIGNED,
    apply,
    caption,
    cell_name,
    plain,
    signed_colors,
    weight_bar,
)
from viz_encoder.figures.view import VIEWS, drawn_share, share_bar

MOST_COLUMNS = 40  # more tokens than this are folded into one column, but for those that matter
MOST_CURVES = 60
NAMED, APART = 8, 2.5  # curves that bear their head's name, and columns between two of a block
ROW, NODE = 64, 26  # pixels from block to block, and of a node's height
TOP, NAMES = 60, 90  # pixels above the plot, and of the tokens below it
WRITTEN = 0.005  # of the largest node: smaller shares are not written
BEND = np.linspace(0, 1, 17)
WIDTHS = 1.2, 9.0
NEGATIVE, POSITIVE = SIGNED[0], SIGNED[-1]


@drawn_share(
    "How a score got there",
    look="Follow the widest curves down from the node on top: through which tokens, blocks and "
    "heads the score came.",
)
def routes(attribution: Attribution, *, least: Annotated[float, at_least(0)] = 0.02) -> go.Figure:
    """The graph by which a score came from the input embeddings to where it was read.

    A node is a token's state after n blocks, shaded by the share of the score that sat there; a
    curve is what moved by attention, over all heads of a block, as wide as its share. Of more than
    40 tokens, those that hold least stand in one column together. At most 60 curves are drawn.

    Args:
        attribution: what `vz.attribute` returned, with through="values".
        least: links that carry less than this part of the score are left out.

    Raises:
        SelectionError: shares by AttnLRP, which have no links.
    """
    found = attribution.routes(least)
    groups = found.groups(MOST_COLUMNS)
    columns = [_column(found.names, tokens) for tokens in groups]
    nodes = found.folded(groups)
    place = {token: at for at, tokens in enumerate(groups) for token in tokens}
    drawn = found.between(groups)[:MOST_CURVES]
    part = attribution.score if attribution.large else None
    figure = go.Figure(_nodes(nodes, columns, share_bar(attribution), part))
    _draw(figure, drawn, found, place)
    _name(figure, drawn, place, part)
    apply(figure, plain(attribution.sentence))
    caption(figure, f"{VIEWS['routes'].says} {_says(found, drawn)}")
    _lay_out(figure, len(columns), len(nodes))
    return figure


def _column(names: tuple[str, ...], tokens: tuple[int, ...]) -> str:
    return cell_name(names, [*tokens]) if len(tokens) == 1 else f"{len(tokens)} others"


def _nodes(
    nodes: Float[np.ndarray, "state column"],
    columns: Sequence[str],
    bar: str,
    whole: float | None,
) -> go.Heatmap:
    least = WRITTEN * abs(nodes).max()
    written = [[_said(x, whole) if abs(x) >= least else "" for x in row] for row in nodes.tolist()]
    return go.Heatmap(
        z=nodes,
        x=columns,
        y=list(range(len(nodes))),
        text=written,
        texttemplate="%{text}",
        ygap=ROW - NODE,
        xgap=3,
        hovertemplate="%{x}<br>after %{y} blocks<br>share %{z:+.4g}<extra></extra>",
        colorbar=weight_bar(bar),
        **signed_colors(nodes),
    )


def _draw(figure: go.Figure, edges: Sequence[Edge], found: Routes, place: dict[int, int]) -> None:
    """The curves, and the words of each on pointing."""
    most = max((abs(edge.share) for edge in edges), default=1.0)
    half = NODE / ROW / 2
    middles = []
    for edge in reversed(edges):  # the strongest lies on top
        start, end = place[edge.key], place[edge.query]
        bend = 3 * BEND**2 - 2 * BEND**3
        color = POSITIVE if edge.share > 0 else NEGATIVE
        width = max(WIDTHS[0], WIDTHS[1] * abs(edge.share) / most)
        figure.add_scatter(
            x=start + (end - start) * bend,
            y=edge.layer + half + (1 - 2 * half) * BEND,
            mode="lines",
            line={"color": color, "width": width},
            opacity=0.75,
            hoverinfo="skip",
            showlegend=False,
            xaxis="x2",
        )
        middles.append(((start + end) / 2, edge.layer + 0.5, edge))
    figure.add_scatter(
        x=[x for x, _, _ in middles],
        y=[y for _, y, _ in middles],
        text=[_words(edge, found.names) for _, _, edge in middles],
        name="links",
        mode="markers",
        marker={"size": 12, "opacity": 0},
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
        xaxis="x2",
    )


def _name(
    figure: go.Figure, edges: Sequence[Edge], place: dict[int, int], whole: float | None
) -> None:
    """Name the strongest curves near their keys, where there is room."""
    named: list[tuple[int, float]] = []
    for edge in edges[:NAMED]:
        start, end = place[edge.key], place[edge.query]
        x = start + 0.3 * (end - start)
        if any(layer == edge.layer and abs(x - other) < APART for layer, other in named):
            continue
        named.append((edge.layer, x))
        by = f"{edge.layer}.{edge.head}: {_said(edge.by_head, whole)}"
        figure.add_annotation(
            text=f"{_said(edge.share, whole)} ({by})",
            **{"x": x, "y": edge.layer + 0.46, "xref": "x2", "yref": "y", "showarrow": False},
            name="link",  # left out where the figure is narrow
            font={"size": 11, "color": "#1e293b"},
            bgcolor="rgba(255, 255, 255, 0.85)",
        )


def _said(share: float, whole: float | None) -> str:
    """A part of the score, where that says much, otherwise the share itself."""
    said = f"{share:+.2f}" if whole is None else f"{share / whole:.0%}"
    return said.replace("-", "−")


def _words(edge: Edge, names: tuple[str, ...]) -> str:
    key, query = (plain(cell_name(names, [at])) for at in (edge.key, edge.query))
    said = (
        f"block {edge.layer}: {key} → {query}<br>{edge.share:+.4f} over all heads; "
        f"head {edge.layer}.{edge.head} brings {edge.by_head:+.4f}"
    )
    return said.replace("-", "−")


def _says(found: Routes, drawn: Sequence[Edge]) -> str:
    own = sum(edge.query == edge.key for edge in found.edges)
    cut = len(found.edges) - own - len(drawn)
    left = f" {cut} weaker ones are left out." if cut > 0 else ""
    return (
        "Curves: links between tokens, the strongest with their share and the head that brings "
        f"most of it.{left} A row and the biases of later blocks add up to the score."
    )


def _lay_out(figure: go.Figure, n_columns: int, n_rows: int) -> None:
    axis = {"showgrid": False, "zeroline": False, "fixedrange": True}
    across = [-0.5, n_columns - 0.5]
    figure.update_xaxes(
        title={"text": "Token", "standoff": 12},
        type="category",
        tickangle=-60,
        range=across,
        **axis,
    )
    figure.update_yaxes(title="After n blocks", dtick=1, range=[-0.5, n_rows - 0.5], **axis)
    figure.update_annotations(yshift=-28 - NAMES, selector={"name": "caption"})
    below = figure.layout.margin.b + NAMES
    figure.update_layout(
        height=ROW * n_rows + TOP + below,
        margin={"t": TOP, "b": below},
        xaxis2={"overlaying": "x", "range": across, "visible": False, "fixedrange": True},
    )
