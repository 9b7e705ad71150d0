"""Shared by layer × key figures: their axes, and pooling of many keys."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from viz_encoder.figures.theme import WEIGHTS, add_masked, plain, signed_colors, weight_bar

TICKS = 5  # on a scale that ends below the largest number
MAX_KEYS = 512  # more would be thinner than a pixel, and a single peak could not be seen


def depth_figure(
    rows: Float[np.ndarray, "layer key"],
    tokens: tuple[str, ...],
    *,
    bar: str,
    key_title: str,
    layer_title: str = "After n blocks",
    first: int = 1,
    own: int | None = None,
    numbers: Int[np.ndarray, " key"] | None = None,
    signed: bool = False,
) -> tuple[go.Figure, int]:
    """The heatmap, and of how many keys each cell is the largest; NaN is drawn as masked.

    Of `signed` shares, which add up, it is the sum.

    `first` is the number of the first row: 1 where a row is a state, 0 where it is a layer itself.
    `own` is the query whose own share would swallow the colors: they end at the largest of the
    other keys, and the scale says so. `numbers` are those of the keys, where some are left out.
    """
    numbers = np.arange(len(tokens)) if numbers is None else numbers
    step = -(-len(numbers) // MAX_KEYS)
    starts = np.arange(0, len(numbers), step)
    values = (np.add if signed else np.fmax).reduceat(rows, starts, axis=1)
    place = {
        "x": [cell_name(tokens, numbers[at : at + step].tolist()) for at in starts.tolist()],
        "y": list(range(first, first + len(rows))),
    }
    where = f"{_axis(layer_title)} %{{y}}<br>{_axis(key_title)} %{{x}}<br>"
    figure = go.Figure()
    add_masked(figure, values, hovertemplate=where + "masked<extra></extra>", **place)
    figure.add_heatmap(
        z=values,
        **(signed_colors(values) if signed else {"colorscale": WEIGHTS, "zmin": 0}),
        colorbar=weight_bar(bar),
        hovertemplate=f"{where}%{{z:{'+' * signed}.4g}}<extra></extra>",
        hoverongaps=False,
        **place,
    )
    if own is not None:
        _end_at_others(figure, np.delete(values, own // step, axis=1), values)
    axis = {"showgrid": False, "zeroline": False}
    figure.update_xaxes(title=key_title, side="top", tickangle=-60, type="category", **axis)
    figure.update_yaxes(title=layer_title, autorange="reversed", dtick=1, **axis)
    return figure, step


def _end_at_others(figure: go.Figure, others: np.ndarray, values: np.ndarray) -> None:
    """End the colors at the largest of the others, where something is beyond it."""
    most = float(np.nanmax(others, initial=0))
    if not 0 < most < np.nanmax(values):
        return
    ticks = np.linspace(0, most, TICKS)
    text = [*(f"{tick:.3g}" for tick in ticks[:-1]), f"≥ {most:.3g}"]
    bar = {"tickvals": ticks, "ticktext": text}
    figure.update_traces(zmax=most, colorbar=bar, selector={"zmin": 0})


def _axis(title: str) -> str:
    """What an axis counts: "Key (which input token)" counts keys."""
    return title.partition(" (")[0].lower()


def cell_name(tokens: tuple[str, ...], block: list[int]) -> str:
    """Name a block of tokens; the number comes first, so that equal tokens stay apart."""
    first, last = block[0], block[-1]
    return f"{first} {plain(tokens[first])}" if len(block) == 1 else f"{first}–{last}"
