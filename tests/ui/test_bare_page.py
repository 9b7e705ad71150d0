"""What modules draw on a page of nothing else, of numbers in which no row passes for a column."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route

from viz_encoder.bundled import asset

ADDRESS = "http://page.localhost/"
EMPTY = "<!doctype html><body><main style='width: 400px'></main>"
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def bare(chromium: Browser) -> Iterator[Page]:
    """An empty page that gets its modules from their folder, without a server."""
    folder = asset("web")

    def answer(route: Route) -> None:
        name = route.request.url.removeprefix(ADDRESS)
        if name:
            route.fulfill(path=folder / name, content_type="text/javascript")
        else:
            route.fulfill(body=EMPTY, content_type="text/html")

    page = chromium.new_page()
    page.route(f"{ADDRESS}**", answer)
    page.goto(ADDRESS)
    yield page
    page.close()


# A map of 40 tokens, zoomed to queries 2 to 7 and keys 8 to 13; a part that begins before them,
# at other rows than columns, and has more columns than rows: 0 but for one weight.
ZOOMED = """async ([row, column]) => {
  const { paperSvg } = await import("/attention/paper_figure.js");
  const { makeScale } = await import("/core/colors.js");
  const { Viewport } = await import("/core/viewport.js");
  const view = Object.assign(new Viewport(40), { row: 2, col: 8, span: 6 });
  const tile = { rows: [1, 9], keys: [5, 16], shape: [8, 11], step: [1, 1], most: 1, tops: [] };
  tile.values = new Float32Array(88);
  tile.values[(row - tile.rows[0]) * 11 + column - tile.keys[0]] = 1;
  const shown = Array.from({ length: 40 }, (_, at) => ({ name: `t${at}`, tokens: [at] }));
  const map = { view, shown, tiles: [tile], scale: makeScale("head", 1), borders: [-1, -1] };
  const selection = { layer: 0, head: 0, hide: false, renorm: false, words: false };
  Object.assign(map, { selection, against: null, parts: { at: () => ({ step: [1, 1] }) } });
  const run = { model: "m", vocabulary: { scales: { head: { measures: "Weight", says: "" } } } };
  const image = new Image();
  image.src = paperSvg(map, run, 90).match(/href="(data:image[^"]*)"/)[1];
  await image.decode();
  const canvas = new OffscreenCanvas(6, 6); // a pixel a cell in sight
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(image, 0, 0, 6, 6);
  const { data } = context.getImageData(0, 0, 6, 6);
  const dark = Array.from({ length: 36 }, (_, at) => at).filter((at) => data[4 * at] < 128);
  return dark.map((at) => [Math.floor(at / 6), at % 6]);
}"""


def test_a_zoomed_map_is_saved_with_each_weight_at_its_query_and_key(bare):
    assert bare.evaluate(ZOOMED, [4, 12]) == [[4 - 2, 12 - 8]]
    assert bare.evaluate(ZOOMED, [7, 8]) == [[7 - 2, 8 - 8]]


# The items of a set with two labels, so that they are drawn in another order than they were given.
MATRIX = """async (values) => {
  const { ItemMatrix } = await import("/pooling/cosine_matrix.js");
  window.chosen = [];
  window.matrix = new ItemMatrix((item) => chosen.push(item));
  document.querySelector("main").replaceChildren(matrix.node);
  const set = { names: ["a", "b", "c"], labels: ["y", "x", "x"] };
  matrix.show(set, { values: Float32Array.from(values), shape: [3, 3] }, "mean", 0);
}"""
PIXEL = """([row, column]) => {
  const [x, y] = matrix.view.middle(row, column, matrix);
  return Array.from(matrix.base.getContext("2d").getImageData(x, y, 1, 1).data.slice(0, 3));
}"""

# The cells on whose upper left corner a line was drawn that the picture itself has not.
FRAMED = """() => {
  matrix.mark(-1); // no item is framed, only the cell
  const [shown, base] = [matrix.canvas, matrix.base].map((canvas) => canvas.getContext("2d"));
  const { left, top, each } = matrix;
  const differs = (row, column) => {
    const place = [left + (column + 0.3) * each, top + row * each, 1, 1];
    const [one, other] = [shown, base].map((context) => context.getImageData(...place).data);
    return String(one) !== String(other);
  };
  const cells = Array.from({ length: 9 }, (_, at) => [Math.floor(at / 3), at % 3]);
  return cells.filter((cell) => differs(...cell));
}"""


def test_a_matrix_names_draws_and_chooses_the_row_before_the_column(bare):
    values = [[1, 0.2, -0.3], [0.4, 1, -0.5], [0.6, -0.7, 1]]
    bare.evaluate(MATRIX, [value for row in values for value in row])
    order = [1, 2, 0]  # by label, then as given
    for row, column in [(0, 1), (2, 0), (1, 2)]:
        bare.mouse.move(*bare.evaluate("cell => matrix.box(...cell)", [row, column]))
        value = f"{values[order[row]][order[column]]:.6f}".replace("-", "−")
        names = [f"{order[at]} “{'abc'[order[at]]}”" for at in (row, column)]
        said = bare.inner_text(".viz-readout")
        assert said.startswith(f"Cosine {value}: {names[0]}") and names[1] in said
        red, _, blue = bare.evaluate(PIXEL, [row, column])
        assert (red > blue) is (values[order[row]][order[column]] > 0)
        bare.mouse.down()
        bare.mouse.up()
        assert bare.evaluate("chosen.at(-1)") == order[row]
        framed = bare.evaluate(FRAMED)
        assert (min(y for y, _ in framed), min(x for _, x in framed)) == (row, column)
    bare.focus(".viz-set-matrix")
    bare.keyboard.press("ArrowUp")
    assert bare.inner_text(".viz-readout").startswith("Cosine 0.400000: 1 “b”")
