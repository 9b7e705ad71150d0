"""A zoomed map, and a picture of patches, on a bare page: parts begin at different places."""

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
  const scales = { head: { measures: "Weight", says: "" } };
  const run = { model: "m", link: { a: "w" }, vocabulary: { scales } };
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
    assert any(text.endswith("m, “w”.") for text in places)
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
  const clipped = (_context, _beyond, draw) => draw();
  drawTiles(Object.assign(map, { left: 50, top: 20, side: 400, clipped }));
  return boxes;
}"""


def test_tokens_without_a_counterpart_are_hatched_across_what_is_in_sight(bare):
    row = [50, 20 + (4 - 2) * 50, 400, 50]
    column = [50 + (9 - 6) * 50, 20, 50, 400]
    assert bare.evaluate(ALONE) == [row, column]


ZOOM = """async () => {
  const { zoomButtons } = await import("/views/cell_canvas.js");
  const { Viewport } = await import("/core/viewport.js");
  const map = { view: new Viewport(40), chosen: [5, 30], moved: () => {} };
  const [closer, wider] = zoomButtons(map);
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
  const { Atlas } = await import("/explore/atlas.js");
  const { makeScale, shade } = await import("/core/colors.js");
  const on = () => {};
  const kept = { hide: true, renorm: false, words: false };
  const selection = { ...kept, scale: "layer", layer: 0, head: 0, on };
  const places = [0, 1].map((head) => ({ layer: 0, head, name: `0.${head}` }));
  const order = { node: document.createElement("p"), on, heads: () => places, source: { key: "" } };
  const measures = { layers: [], enter: on, begin: on, add: on, sentence: () => "" };
  const largest = (scale, layer, kept) => (kept?.hide ? 1 : 0.25); // of what is shown, and of all
  const run = { nLayers: 1, nHeads: 2, largest, statistics: on, statisticsSaid: on };
  run.thumbnails = async () => ({ shape: [2, 1, 1], values: Float32Array.of(0.5, 0.75) });
  const atlas = new Atlas(selection, measures, order, on);
  document.querySelector("main").replaceChildren(atlas.node);
  atlas.enter(run);
  await atlas.show(run);
  const drawn = atlas.canvases.map((one) => one.getContext("2d").getImageData(3, 3, 1, 1));
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


# Two rows of three patches after two prefix tokens: unit 2 is patch 0.
PICTURE = """async () => {
  const { Picture } = await import("/views/picture_overlay.js");
  const { makeScale } = await import("/core/colors.js");
  window.chosen = [];
  window.picture = new Picture({ preview: () => {}, choose: (unit) => chosen.push(unit) });
  document.querySelector("main").replaceChildren(picture.node, picture.more);
  picture.more.hidden = false;
  const units = Array.from({ length: 8 }, (_, at) => ({ name: `t${at}`, tokens: [at] }));
  const run = { grid: { rows: 2, cols: 3, prefix: 2 }, segments: units.map(() => 0) };
  picture.show(run, null, units);
  const scale = makeScale("head", 0.5);
  window.scales = { chips: scale, tints: scale };
}"""
PAINT = """([values, marked]) => {
  const boxes = [];
  picture.context.strokeRect = (...box) => boxes.push(box);
  picture.mark(marked, marked, marked);
  const what = { of: "weight", top: "", unit: "share" };
  picture.paint(Float32Array.from(values), scales, what);
  const place = (pixels) => Math.floor(pixels / picture.patch);
  const patches = boxes.map(([x, y]) => 3 * place(y) + place(x));
  return [picture.kept.textContent, [...new Set(patches)]];
}"""


def test_a_unit_is_its_patch_and_prefix_tokens_are_none(bare):
    bare.evaluate(PICTURE)
    values = [0.125, 0.0625, 0, 0.25, 0, 0.5, 0, 0.0625]
    said, framed = bare.evaluate(PAINT, [values, 6])
    assert framed == [6 - 2]
    assert said == (
        "All 6 patches are shaded. The prefix tokens hold 18.8% of the whole weight, and are not "
        "counted."
    )
    bare.fill("#viz-keep", "50")
    assert bare.inner_text(".viz-held").startswith("The strongest 1 of 6 patches holds 61.5% of")
    bare.mouse.click(*bare.evaluate("picture.box(5 - picture.first)"))
    assert bare.evaluate("chosen") == [5]
    bare.keyboard.press("ArrowRight")  # from the marked one
    assert bare.evaluate("chosen.at(-1)") == 7


SHARES = """async (values) => {
  const { Shares } = await import("/vectors/token_shares.js");
  const { tokensOf } = await import("/views/token_choice.js");
  const shares = new Shares("Shares");
  document.querySelector("main").replaceChildren(shares.node);
  const tokens = values.map((_, at) => `t${at}`);
  const grid = { rows: 2, cols: 3, prefix: 2 };
  const say = (at) => `said of ${at}`;
  shares.show({ run: tokensOf(tokens, grid, ""), values, unit: "share", say });
  window.shares = shares;
}"""
STRONG = """() => {
  const { canvas, patch, context } = shares.tokens.patches;
  if (!patch) return null;
  const middle = (at) => [(at % 3) * patch + patch / 2, Math.floor(at / 3) * patch + patch / 2];
  const opaque = (at) => context.getImageData(...middle(at), 1, 1).data[3];
  const seen = [0, 1, 2, 3, 4, 5].map(opaque);
  return seen.some(Boolean) && [seen.indexOf(Math.max(...seen))];
}"""


def test_a_share_shades_its_own_patch(bare):
    bare.evaluate(SHARES, [0.5, 0.25, 0, 0.125, 0, 0, 1, 0])
    drawn = bare.wait_for_function(STRONG).json_value()
    assert drawn == [6 - 2]
    page = bare.locator(".viz-pool-shares canvas").bounding_box()
    bare.mouse.move(page["x"] + page["width"] * 0.5, page["y"] + page["height"] * 0.75)
    assert bare.inner_text(".viz-pool-told") == "said of 6"


TINTED = """async ([values, kept]) => {
  const { overlay } = await import("/views/patch_canvas.js");
  const { makeScale } = await import("/core/colors.js");
  const grid = { rows: 2, cols: 3, prefix: 2 };
  const given = [Float32Array.from(values), grid, makeScale("head", 1), 1, Uint8Array.from(kept)];
  const canvas = overlay(...given);
  const { data } = canvas.getContext("2d").getImageData(0, 0, 3, 2);
  return [0, 1, 2, 3, 4, 5].map((at) => data[4 * at + 3]); // how opaque each patch is
}"""


def test_a_tint_is_over_its_own_patch_and_over_none_that_is_left_out(bare):
    values, kept = [0.2, 0.4, 0.6, 0.8, 1, 0.4], [1, 0, 1, 1, 0, 1]
    opaque = [255 * value * one for value, one in zip(values, kept, strict=True)]
    assert bare.evaluate(TINTED, [values, kept]) == pytest.approx(opaque, abs=1)
