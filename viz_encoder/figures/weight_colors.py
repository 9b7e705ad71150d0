"""Scales of the colors of weights in figures; cells and color bars hold the weights themselves."""

from typing import Annotated, Any

import numpy as np
from jaxtyping import Float
from plotly.colors import find_intermediate_color, hex_to_rgb

from viz_encoder.arguments import OneOf
from viz_encoder.figures.theme import WEIGHTS, weight_bar
from viz_encoder.trace.map_view import SCALES

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
    """The color of the ramp at a share of its length."""
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
