"""Shared by layer × key figures: the keys that are shown, pooling of many, and their axes."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from viz_encoder.errors import SelectionError
from viz_encoder.figures.theme import WEIGHTS, add_masked, cell_names, signed_colors, weight_bar

SHARE = "<br>(share of the row's total on the tokens shown)"


@dataclass(frozen=True, eq=False)
class ShownKeys:
    """Rows over the keys that are shown, and what was done to them in words."""

    rows: Float[np.ndarray, "layer key"]
    tokens: Int[np.ndarray, " key"]  # the keys by their numbers
    says: str  # sentences for the caption; "" where nothing was done
    renormalized: bool

    def bar(self, title: str) -> str:
        """The scale's title: the measure's own, or a share of what is shown."""
        return title.partition("<br>")[0] + SHARE if self.renormalized else title

    def place(self, token: int) -> int | None:
        """The column of a token; None where it is hidden."""
        found = np.flatnonzero(self.tokens == token)
        return int(found[0]) if len(found) else None


def shown_keys(
    rows: Float[np.ndarray, "layer key"],
    special: tuple[bool, ...],
    *,
    hide_special: bool,
    renormalize: bool,
) -> ShownKeys:
    """Select the shown part of a measure over all tokens; NaN stays NaN.

    A row without anything on the keys that are shown keeps its zeros.
    """
    tokens = np.flatnonzero(~np.array(special)) if hide_special else np.arange(rows.shape[1])
    if not len(tokens):
        raise SelectionError("Every token of this run is special; show special tokens again.")
    shown = rows[:, tokens]
    if renormalize:
        sums = np.nansum(shown, axis=1, keepdims=True)
        shown = shown / np.where(sums == 0, 1, sums)
    return ShownKeys(shown, tokens, _says(hide_special, renormalize), renormalize)


def _says(hide_special: bool, renormalize: bool) -> str:
    if not hide_special and not renormalize:
        return ""
    hidden = "Special tokens are left out of the keys." if hide_special else ""
    rest = (
        "Rows are renormalized: each is divided by its sum over the keys shown."
        if renormalize
        else "The other values are not renormalized."
    )
    return f" Shown: {hidden} {rest} The measure is computed over all tokens.".replace("  ", " ")


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
        "x": cell_names(tokens, starts.tolist(), numbers.tolist()),
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
