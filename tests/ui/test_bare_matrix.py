"""A square matrix on a bare page: of numbers in which no row passes for its column."""

# The items of a set with two labels, so that they are drawn in another order than they were given.
MATRIX = """async (values) => {
  const { ItemMatrix } = await import("/vectors/cosine_matrix.js");
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
