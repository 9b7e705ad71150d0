"""The cells of a mask on a bare page, in a view that begins at another row than column."""

GRID = """async () => {
  const { TokenGrid } = await import("/views/mask_grid.js");
  const { Viewport } = await import("/core/viewport.js");
  window.grid = new TokenGrid({ label: "Mask" });
  document.querySelector("main").replaceChildren(grid.node);
  const names = Array.from({ length: 12 }, (_, at) => `t${at}`);
  grid.show(names, () => [255, 255, 255]);
  grid.view = Object.assign(new Viewport(12), { row: 1, col: 6, span: 5 });
  grid.layout();
}"""
POINT = """([row, column]) => {
  const [clientX, clientY] = grid.box(row, column);
  return [grid.place({ clientX, clientY }), grid.nearest({ clientX, clientY })];
}"""
OUTLINED = """(cells) => {
  const boxes = [];
  grid.context.strokeRect = (...box) => boxes.push(box);
  grid.outlined = cells.map(([row, column]) => 12 * row + column);
  grid.draw();
  const { left, top, side, view } = grid;
  const from = (pixels) => Math.floor((pixels * view.span) / side);
  return boxes.map(([x, y]) => [view.row + from(y - top), view.col + from(x - left)]);
}"""


def test_the_cell_under_the_pointer_is_that_row_and_column(bare):
    bare.evaluate(GRID)
    for cell in ([2, 9], [5, 6]):
        assert bare.evaluate(POINT, cell) == [cell, cell]
    assert bare.evaluate(POINT, [0, 11]) == [None, [0, 11]]  # the nearest may be out of sight
    assert bare.evaluate(POINT, [-3, 14]) == [None, [0, 11]]


def test_an_outline_is_around_its_own_cell(bare):
    bare.evaluate(GRID)
    assert bare.evaluate(OUTLINED, [[2, 9], [4, 7]]) == [[2, 9], [4, 7]]
