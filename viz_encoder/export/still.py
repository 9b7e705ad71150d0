"""A picture of a cell's opened map, for where frames and scripts are taken out: on GitHub."""

import base64
import io

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image, ImageDraw, ImageFont

from viz_encoder.analyses.overview import overview
from viz_encoder.export.tables import kept_keys, kept_queries, word_name
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import MapView
from viz_encoder.trace.token_selection import key_names

SIDE, CELL = 480, 22  # pixels: the map, about, and a cell at most
CELLS = 120  # a side; each is the largest of a block where there are more
NAMED = 40  # tokens a side, up to which they have their names
LETTERS, SIZE = 14, 12  # of a name
LIGHT, DARK = (255, 255, 255), (32, 41, 112)
MASKED, INK = (216, 207, 196), (40, 40, 40)


def still(trace: Trace, view: MapView) -> str:
    """The map as an address that holds a PNG."""
    rows, keys = kept_queries(trace, view), kept_keys(trace, view)
    tile = overview(
        trace,
        view.layer,
        view.head,
        rows=slice(None),
        keys=slice(None),
        size=CELLS,
        tokens=None if view.as_it_ran else rows,
    )
    named = max(len(rows), len(keys)) <= NAMED
    sides = (trace.tokens, rows), (key_names(trace, view.layer), keys)
    left, top = ([_short(word_name(names, one)) for one in side] * named for names, side in sides)
    model = _short(trace.origin.model, 40)
    title = f"{model}, head {view.layer}.{view.head}: rows look at columns"
    image = _drawn(tile.values, left, top, title)
    file = io.BytesIO()
    # An octree is seven times as quick here, and no color is far off, as with the median cut.
    image.quantize(64, method=Image.Quantize.FASTOCTREE).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")


def _drawn(
    values: Float[np.ndarray, "row col"], left: list[str], top: list[str], title: str
) -> Image.Image:
    font = ImageFont.load_default(SIZE)
    side = max(2, min(CELL, SIDE // max(values.shape)))
    wide, high = (max([0, *(int(font.getlength(x)) + 8 for x in names)]) for names in (left, top))
    cells = Image.fromarray(_colors(values)).resize(
        (values.shape[1] * side, values.shape[0] * side), Image.Resampling.NEAREST
    )
    across = max(wide + cells.width, int(font.getlength(title)) + 8)
    begin = SIZE + 12 + high
    image = Image.new("RGB", (across, begin + cells.height), LIGHT)
    draw = ImageDraw.Draw(image)
    draw.text((4, 4), title, INK, font)
    image.paste(cells, (wide, begin))
    for at, name in enumerate(left):
        draw.text((wide - 4, begin + (at + 0.5) * side), name, INK, font, anchor="rm")
    for at, name in enumerate(top):
        label = Image.new("RGB", (high, SIZE + 4), LIGHT)
        ImageDraw.Draw(label).text((4, (SIZE + 4) / 2), name, INK, font, anchor="lm")
        place = wide + int((at + 0.5) * side - (SIZE + 4) / 2), begin - high
        image.paste(label.rotate(90, expand=True), place)
    return image


def _colors(values: Float[np.ndarray, "row col"]) -> UInt8[np.ndarray, "row col 3"]:
    share = np.nan_to_num(values / max(float(np.nanmax(values, initial=0)), 1e-30))[..., None]
    colors = np.array(LIGHT) + share * (np.array(DARK) - np.array(LIGHT))
    return np.where(np.isnan(values)[..., None], MASKED, colors).astype(np.uint8)


def _short(name: str, most: int = LETTERS) -> str:
    """A name that the font can write: its letters are those of Latin."""
    plain = "".join(c if c.isprintable() and ord(c) < 0x250 else "·" for c in name)
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"
