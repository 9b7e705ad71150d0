"""Theme of all figures: no web fonts, colors for light, dark and weights, text that stays text."""

import html
import textwrap
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from plotly.colors import find_intermediate_color, hex_to_rgb

from viz_encoder.arguments import OneOf
from viz_encoder.shown import isolated
from viz_encoder.trace.map_view import SCALES

FONT = "system-ui, sans-serif"
INK = "#64748b"
CLEAR = "rgba(0,0,0,0)"
# Light to dark, after seaborn's "mako"; lightness falls all the way.
WEIGHTS = [
    *("#fafdfb", "#def5e5", "#a0dfb9", "#54c9ad", "#38aaac", "#348ba6"),
    *("#366a9f", "#40498e", "#3b2f5e", "#28192f", "#0b0405"),
]
SIGNED = ["#2b5c9e", "#8fb8de", "#f6f6f4", "#eba57f", "#a8321f"]  # −1 … 0 … 1
MASKED = "#d8cfc4"
KEY, QUERY = "Key (who is looked at)", "Query (who looks)"
STATE_AXIS = "After n blocks (0 = embeddings)"
BLOCK_AXIS = "Block"
MAX_KEYS = 2048
FEW = 26  # most layers of which each has its number on an axis
AXIS_HEIGHT = 40  # pixels of a bottom axis with its title
PLACE = "query %{y}<br>key %{x}<br>"  # of a cell that the mouse is over


def apply(figure: go.Figure, title: str) -> go.Figure:
    """The common layout."""
    figure.update_layout(
        # Pinned to the top edge, clear of the key axis's names, which stand above the map.
        title={"text": title, "font": {"size": 15}, "y": 1, "yanchor": "top", "pad": {"t": 12}},
        font={"family": FONT, "color": INK, "size": 12},
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        margin={"l": 90, "r": 20, "t": 130, "b": 30},
        legend={"orientation": "h", "yanchor": "top", "y": 0, "xanchor": "right", "x": 1},
        template="none",
    )
    return figure


def caption(figure: go.Figure, text: str) -> None:
    """Add a caption below the figure; `text` must be ours, never a user's."""
    lines = textwrap.wrap(text, 96, break_on_hyphens=False)
    figure.add_annotation(
        name="caption",  # the page takes it out and sets it as a paragraph
        text="<br>".join(lines),
        align="left",
        showarrow=False,
        font={"size": 11},
        **{"xref": "paper", "x": 0, "xanchor": "left"},
        **{"yref": "paper", "y": 0, "yanchor": "top", "yshift": -28},
    )
    figure.update_layout(margin={"b": 40 + 16 * len(lines)})


def most_tokens(
    values: Float[np.ndarray, "layer token"], middle: Float[np.ndarray, " layer"]
) -> dict[str, object]:
    """Error bars around the middle, from the tenth to the ninetieth percentile of the tokens."""
    low, high = np.nanpercentile(values, [10, 90], axis=1)
    ends = {"array": np.maximum(high - middle, 0), "arrayminus": np.maximum(middle - low, 0)}
    return {"type": "data", "symmetric": False, "thickness": 1, **ends}


def caption_below(figure: go.Figure, text: str) -> None:
    """A caption under a figure whose bottom axis has a title."""
    caption(figure, text)
    note = figure.layout.annotations[-1]
    note.yshift -= AXIS_HEIGHT
    figure.update_layout(
        margin={"b": figure.layout.margin.b + AXIS_HEIGHT},
        legend={"yanchor": "bottom", "y": 1, "xanchor": "left", "x": 0},
    )


def head_axes(figure: go.Figure) -> None:
    """Axes of a heatmap with a row for each layer and a column for each head."""
    axis = {"showgrid": False, "zeroline": False, "dtick": 1}
    figure.update_xaxes(title="Head", side="top", **axis)
    figure.update_yaxes(title="Layer", autorange="reversed", **axis)


def token_axes(
    figure: go.Figure, *, key: str = KEY, query: str = QUERY, automargin: bool | None = None
) -> None:
    """Axes of a heatmap with a row for each query and a column for each key."""
    axis = {"type": "category", "showgrid": False, "zeroline": False, "tickfont": {"size": 12}}
    axis |= {"automargin": automargin}
    figure.update_xaxes(title=key, side="top", tickangle=-60, **axis)
    title = {"text": query, "standoff": 8 if automargin else None}
    figure.update_yaxes(title=title, autorange="reversed", **axis)


def add_masked(figure: go.Figure, values: np.ndarray, **place: object) -> None:
    """Give the cells that are NaN their own color and a line in the legend; nothing if none is."""
    holes = np.isnan(values)
    if not holes.any():
        return
    figure.add_heatmap(
        z=np.where(holes, np.float32(0), np.float32(np.nan)),
        colorscale=[MASKED, MASKED],
        showscale=False,
        name="masked: may not attend",
        showlegend=True,
        hoverongaps=False,
        **place,
    )


def plain(text: str) -> str:
    """A user's text for Plotly, which would read <b> as markup and turn numbers beside it."""
    return isolated(html.escape(text, quote=False))


def cell_name(tokens: Sequence[str], block: Sequence[int]) -> str:
    """Name a block of tokens; the number comes first, so that equal tokens stay apart."""
    first, last = block[0], block[-1]
    return f"{first} {plain(tokens[first])}" if len(block) == 1 else f"{first}–{last}"


def cell_names(
    tokens: Sequence[str], starts: Iterable[int], numbers: Sequence[int] | None = None
) -> list[str]:
    """A name for each block, by its start among all tokens, or among those of `numbers`."""
    numbers, starts = range(len(tokens)) if numbers is None else numbers, [*starts]
    ends = [*starts[1:], len(numbers)]
    return [cell_name(tokens, numbers[at:end]) for at, end in zip(starts, ends, strict=True)]


def head_name(layer: int, head: int | str | tuple[int, ...]) -> str:
    """Short name of a map: 3.5 for layer 3, head 5."""
    if isinstance(head, int):
        return f"{layer}.{head}"
    if isinstance(head, str):
        return f"layer {layer}, {head} over heads"
    return f"layer {layer}, mean of heads {', '.join(map(str, head))}"


def signed_colors(values: np.ndarray) -> dict[str, object]:
    """Colors of a heatmap: blue below 0, red above, as far on both sides."""
    most = float(np.nanmax(np.abs(values), initial=0)) or 1.0
    return {"colorscale": SIGNED, "zmin": -most, "zmax": most}


def signed_map(values: np.ndarray, bar: str, hover: str, **more: Any) -> go.Figure:
    """A heatmap in signed colors; `hover` is what it says of a cell."""
    heatmap = go.Heatmap(
        z=values,
        colorbar=weight_bar(bar),
        hovertemplate=f"{hover}<extra></extra>",
        **signed_colors(values),
        **more,
    )
    return go.Figure(heatmap)


def weight_bar(
    title: str = "Attention weight<br>(share of the query's total)",
) -> dict[str, object]:
    """The color scale with its units."""
    return {"title": {"text": title, "side": "right"}, "thickness": 14, "outlinewidth": 0}


COLORED = {name: SCALES[name].says for name in ("head", "percentile", "sqrt", "shared")}
MapScale = Annotated[str, OneOf(COLORED)]
STEPS = 64  # of a nonlinear ramp
TICKS = 5


def weight_colors(
    values: Float[np.ndarray, "row col"],
    scale: str = "head",
) -> dict[str, Any]:
    """The options of a heatmap that draw weights on that scale; NaN and 0 are not counted."""
    options = {"colorscale": WEIGHTS, "zmin": 0, "colorbar": weight_bar()}
    if scale == "shared":
        options["zmax"] = 1
    if scale == "sqrt":
        options["colorscale"] = _bent()
    if scale == "percentile":
        options |= _between(values)
    return options


def _bent() -> list[tuple[float, str]]:
    """The ramp with each color at the square of its place: a weight has the color of its root."""
    shares = np.linspace(0, 1, STEPS).tolist()
    return [(share**2, _color(share)) for share in shares]


def _color(share: float) -> str:
    place = share * (len(WEIGHTS) - 1)
    low = min(int(place), len(WEIGHTS) - 2)
    ends = (f"rgb{hex_to_rgb(color)}" for color in WEIGHTS[low : low + 2])
    return find_intermediate_color(*ends, place - low, colortype="rgb")


def _between(values: Float[np.ndarray, "row col"]) -> dict[str, Any]:
    """Colors from the 1st to the 99th percentile, at the ends of which the bar says ≤ and ≥."""
    above = values[values > 0]
    if not above.size:
        return {}
    low, high = np.percentile(above, (1, 99)).tolist()
    if low == high:
        return {}
    ticks = np.linspace(low, high, TICKS)
    text = [f"≤ {low:.3g}", *(f"{tick:.3g}" for tick in ticks[1:-1]), f"≥ {high:.3g}"]
    return {
        "zmin": low,
        "zmax": high,
        "colorbar": weight_bar() | {"tickvals": ticks, "ticktext": text},
    }
