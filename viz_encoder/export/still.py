"""How a notebook's cell opens: its head and query, and a picture where frames are taken out."""

import io

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from viz_encoder.analyses.overview import overview
from viz_encoder.arguments import bare
from viz_encoder.export.document import as_text
from viz_encoder.export.tables import kept_keys, word_name
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import MapView
from viz_encoder.trace.token_selection import key_names

MOST_ROWS = 256  # queries that are looked through
NEAR = 2  # words so near are often parts of one, as in didn't
LEAST_LETTERS = 2  # in a word worth opening on


def choose_opening(
    trace: Trace, places: list[tuple[int, int]], query: int | None
) -> tuple[int, int, int]:
    """The layer, head and query of the strongest link among some heads.

    A link is between two different words that do not stand side by side, and counts by its weight
    above the mean that all queries give that key; where there are no such words, any two tokens
    are looked at. In a picture it is one of a prefix token ([CLS]) to a patch.

    Args:
        trace: the run.
        places: layer and head of each map that is shown.
        query: the one that is wanted; any if not given.
    """
    best, found = -torch.inf, (*places[0], query or 0)
    step = -(-trace.n_tokens // MOST_ROWS)
    rows = torch.arange(0, trace.n_tokens, step) if query is None else torch.tensor([query])
    for layer in dict.fromkeys(at for at, _ in places):
        heads = [head for at, head in places if at == layer]
        looked = trace.attention(layer, rows=slice(None, None, step)).cpu()[heads]
        weights = looked if query is None else _row(trace, layer, query)[heads]
        excess = weights - looked.mean(dim=1, keepdim=True)
        excess = excess.masked_fill(~_apart(trace, layer, rows), -torch.inf)
        if (top := float(excess.max())) > best:
            best, place = top, int(excess.argmax())
            row = place // excess.shape[2] % excess.shape[1]
            found = layer, heads[place // excess[0].numel()], int(rows[row])
    return found


def _row(trace: Trace, layer: int, query: int) -> Float[Tensor, "head 1 key"]:
    return trace.attention(layer, rows=slice(query, query + 1)).cpu()


def _apart(trace: Trace, layer: int, queries: Int[Tensor, " query"]) -> Bool[Tensor, "query key"]:
    """Pairs that are worth opening on; all where there are none."""
    ran, grid = trace.layers[layer], trace.grid
    keys = torch.arange(ran.k.shape[1])
    if grid is not None and not ran.cross:
        pairs = (queries < max(1, grid.n_prefix))[:, None] & (keys >= grid.n_prefix)
    elif ran.cross:
        pairs = torch.ones(len(queries), len(keys), dtype=torch.bool)
    else:
        words = torch.tensor([_is_word(trace, int(at)) for at in keys])
        numbers = {name: at for at, name in enumerate(dict.fromkeys(map(bare, trace.tokens)))}
        names = torch.tensor([numbers[bare(token)] for token in trace.tokens])
        pairs = words[queries, None] & words & (names[queries, None] != names)
        pairs &= (queries[:, None] - keys).abs() > NEAR
    return pairs if pairs.any() else torch.ones_like(pairs)


def _is_word(trace: Trace, at: int) -> bool:
    special = trace.sample.special[at] or not bool(trace.valid[at])
    letters = sum(map(str.isalpha, trace.tokens[at]))
    return not special and letters >= LEAST_LETTERS


SIDE, CELL = 480, 22  # pixels: the map, about, and a cell at most
CELLS = 120  # a side; each is the largest of a block where there are more
NAMED = 40  # tokens a side, up to which they have their names
LETTERS, SIZE = 14, 12  # of a name
LIGHT, DARK = (255, 255, 255), (32, 41, 112)
MASKED, INK = (216, 207, 196), (40, 40, 40)


def still(trace: Trace, view: MapView) -> str:
    """The map as an address that holds a PNG."""
    rows, keys = view.kept(trace), kept_keys(trace, view)
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
    return f"data:image/png;base64,{as_text(file.getvalue())}"


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
