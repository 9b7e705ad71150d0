"""A zoomed map on a bare page, in which rows, columns and parts begin at different places."""

import re

import pytest

# A map of 40 tokens, zoomed to queries 2 to 7 and keys 8 to 13; a part that begins before them, at
# other rows than columns, and has more columns than rows: 0 but for one weight.
PAPER = """async ([row, column]) => {
  const { paperSvg } = await import("/explore/paper_figure.js");
  const { makeScale } = await import("/core/colors.js");
  const { Viewport } = await import("/core/viewport.js");
  const view = Object.assign(new Viewport(40), { row: 2, col: 8, span: 6 });
  const tile = { rows: [1, 9], keys: [5, 16], shape: [8, 11], step: [1, 1], most: 1, tops: [] };
  tile.values = new Float32Array(88);
  tile.values[(row - tile.rows[0]) * 11 + column - tile.keys[0]] = 1;
  const shown = Array.from({ length: 40 }, (_, at) => ({ name: `t${at}`, tokens: [at] }));
  const map = { view, shown, tiles: [tile], scale: makeScale("head", 1), borders: [5, 12] };
  const at = (r, c) => ({ step: [1, 1], tile, value: r === row && c === column ? 1 : NaN });
  const selection = { layer: 0, head: 0, hide: false, renorm: false, words: false };
  Object.assign(map, { selection, against: null, parts: { at } });
  const run = { model: "m", vocabulary: { scales: { head: { measures: "Weight", says: "" } } } };
  const text = paperSvg(map, run, 90);
  const drawn = new DOMParser().parseFromString(text, "image/svg+xml");
  const box = drawn.querySelector("image");
  const [x, y, side] = ["x", "y", "width"].map((name) => Number(box.getAttribute(name)));
  const from = (node, name, start) => (6 * (Number(node.getAttribute(name)) - start)) / side;
  const placed = (node, x1, y1) => [from(node, x1, x), from(node, y1, y)];
  const image = new Image();
  image.src = box.getAttribute("href");
  await image.decode();
  const canvas = new OffscreenCanvas(6, 6); // a pixel a cell in sight
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(image, 0, 0, 6, 6);
  const { data } = context.getImageData(0, 0, 6, 6);
  const cells = Array.from({ length: 36 }, (_, at) => [Math.floor(at / 6), at % 6]);
  return {
    dark: cells.filter((_, at) => data[4 * at] < 128),
    texts: Array.from(drawn.querySelectorAll("text"), (node) => [
      node.textContent.replace(/[\\u2066-\\u2069]/g, ""), ...placed(node, "x", "y")]),
    lines: Array.from(drawn.querySelectorAll(".border"), (node) => placed(node, "x1", "y1")),
  };
}"""


@pytest.mark.parametrize(("row", "column"), [(4, 12), (7, 8)])
def test_a_zoomed_map_is_saved_with_all_at_its_query_and_key(bare, row, column):
    """In cells from the upper left corner of those in sight."""
    found = bare.evaluate(PAPER, [row, column])
    assert found["dark"] == [[row - 2, column - 8]]
    places = {text: (x, y) for text, x, y in found["texts"]}
    middle = column - 8 + 0.5, row - 2 + 0.5
    assert places["1.0"] == pytest.approx(middle, abs=0.2)
    names = {int(text[1:]): at for text, at in places.items() if re.fullmatch(r"t\d+", text)}
    beside = {token: y for token, (x, y) in names.items() if x < 0}
    above = {token: x for token, (x, y) in names.items() if y < 0}
    assert beside == pytest.approx({token: token - 2 + 0.5 for token in range(2, 8)}, abs=0.2)
    assert above == pytest.approx({token: token - 8 + 0.5 for token in range(8, 14)}, abs=0.2)
    assert found["lines"] == [
        pytest.approx((0, 5 - 2), abs=0.01),
        pytest.approx((12 - 8, 0), abs=0.01),
    ]


ALONE = """async () => {
  const { drawTiles } = await import("/explore/map_drawing.js");
  const { CHANGE, makeScale } = await import("/core/colors.js");
  const context = document.createElement("canvas").getContext("2d");
  const boxes = [];
  context.fillRect = (...box) => boxes.push(box);
  const values = new Float32Array(64);
  const tile = { values, rows: [2, 10], keys: [6, 14], shape: [8, 8], step: [1, 1] };
  tile.about = { rows: [4], keys: [9] };
  const [view, parts] = [{ row: 2, col: 6, span: 8, cells: () => [[0, 0], [0, 0]] }, {}];
  const map = { context, view, parts, tiles: [tile], scale: makeScale(CHANGE, 1) };
  drawTiles(Object.assign(map, { left: 50, top: 20, side: 400 }));
  return boxes;
}"""


def test_tokens_without_a_counterpart_are_hatched_across_what_is_in_sight(bare):
    row = [50, 20 + (4 - 2) * 50, 400, 50]
    column = [50 + (9 - 6) * 50, 20, 50, 400]
    assert bare.evaluate(ALONE) == [row, column]


ZOOM = """async () => {
  const { zoomButtons } = await import("/explore/map_gestures.js");
  const { Viewport } = await import("/core/viewport.js");
  const map = { view: new Viewport(40), chosen: [5, 30], moved: () => {} };
  const [closer, wider] = zoomButtons(map).children;
  const seen = [];
  for (const button of [closer, closer, wider]) {
    button.click();
    seen.push([map.view.row, map.view.col, map.view.span]);
  }
  return seen;
}"""


def test_the_buttons_zoom_around_the_chosen_query_and_key(bare):
    row, column = 5.5, 30.5  # stay where they are in the view
    once, twice = ([row - row * by, column - column * by, 40 * by] for by in (0.5, 0.25))
    assert bare.evaluate(ZOOM) == [once, twice, once]


ATLAS = """async () => {
  const { AtlasCanvas, LEFT, TOP } = await import("/explore/atlas_canvas.js");
  const { makeScale, shade } = await import("/core/colors.js");
  const selection = { scale: "layer", hide: true, renorm: false, words: false };
  const atlas = new AtlasCanvas(selection, { asked: false, ranked: false, words: "" });
  const largest = (scale, layer, kept) => (kept?.hide ? 1 : 0.25); // of what is shown, and of all
  const run = { nLayers: 1, nHeads: 2, largest };
  atlas.enter(run);
  atlas.layout(run, 400);
  atlas.add(0, { shape: [2, 1, 1], values: Float32Array.of(0.5, 0.75) });
  atlas.draw([{ name: "0.0", layer: 0 }, { name: "0.1", layer: 0 }]);
  const context = atlas.node.getContext("2d");
  const at = [LEFT + 3, LEFT + atlas.cell + 3];
  const drawn = at.map((x) => context.getImageData(x, TOP + 3, 1, 1));
  const wanted = [0.5, 0.75].map((value) => shade(value, makeScale("layer", value, 1)));
  return [drawn.map(({ data }) => Array.from(data.slice(0, 3))), wanted];
}"""


def test_small_maps_of_what_is_shown_share_the_largest_weight_of_what_is_shown(bare):
    drawn, wanted = bare.evaluate(ATLAS)
    assert drawn == wanted


# A mask of cells that are pixels or parts of them, in a view that begins at a row and at a column.
BITS = """async ([n, allowed, views, side, zoom]) => {
  const { BitImage } = await import("/views/bit_image.js");
  const { Viewport } = await import("/core/viewport.js");
  const cells = new Uint8Array(n * n);
  for (const [row, col] of allowed) cells[row * n + col] = 1;
  const colors = { allowed: [0, 0, 0], forbidden: [255, 255, 255] };
  const image = new BitImage(n, cells, colors);
  const context = document.createElement("canvas").getContext("2d");
  context.imageSmoothingEnabled = false;
  context.scale(zoom, zoom);
  return views.map(([row, col, span]) => {
    context.clearRect(0, 0, side, side);
    const view = Object.assign(new Viewport(n), { row, col, span });
    image.draw(context, view, { left: 0, top: 0, side });
    const { data } = context.getImageData(0, 0, side * zoom, side * zoom);
    return Array.from({ length: data.length / 4 }, (_, at) => data[4 * at]);
  });
}"""


def test_a_mask_is_drawn_again_where_only_its_columns_move(bare):
    views = [[2, 5, 4], [2, 3, 4], [1, 3, 4]]
    drawn = bare.evaluate(BITS, [10, [[3, 6]], views, 8, 1])
    for (row, column, _), shades in zip(views, drawn, strict=True):
        dark = {(at // 8 // 2, at % 8 // 2) for at, shade in enumerate(shades) if not shade}
        assert dark == {(3 - row, 6 - column)}  # of two pixels a side


def test_the_last_block_of_a_mask_is_as_dark_as_what_is_in_it(bare):
    """Seven tokens in blocks of two: of the last one in each row and column, one is there."""
    whole = [[row, column] for row in range(7) for column in range(7)]
    (shades,) = bare.evaluate(BITS, [7, whole, [[4, 4, 3]], 1.5, 4])
    assert shades == [0] * 6**2
