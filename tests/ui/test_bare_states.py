"""States, player, masks, matrices, pairs, lines on a bare page: a place is no token's number."""

# A map of cross-attention in an exported page: two queries, five keys.
OBLONG = """async () => {
  const { KeptMap } = await import("/offline/maps.js");
  const { MapCanvas } = await import("/offline/map_canvas.js");
  const facts = { tokens: ["a", "b"], others: ["v", "w", "x", "y", "z"], segments: [] };
  const about = { cross: true, counts: [2, 5], shape: [2, 5], name: "0.0" };
  const canvas = document.createElement("canvas");
  document.querySelector("main").replaceChildren(canvas);
  window.cells = [];
  const kept = new KeptMap(facts, about, () => new Float32Array(10), 1);
  window.map = new MapCanvas(canvas, kept, (cell) => cells.push(cell));
  const picture = Object.assign(document.createElement("canvas"), { width: 5, height: 2 });
  map.show(kept, picture, -1);
  map.layout(400);
}"""
OVER = """([row, column]) => {
  const page = map.canvas.getBoundingClientRect();
  const [x, y] = [column, row].map((at) => (at + 0.5) * map.cell);
  return [page.left + map.left + x, page.top + map.top + y];
}"""


def test_of_an_oblong_map_every_cell_is_pointed_at_and_nothing_beside_it(bare):
    bare.evaluate(OBLONG)
    for cell, found in [([1, 4], [1, 4]), ([0, 2], [0, 2]), ([3, 1], None)]:
        bare.mouse.move(*bare.evaluate(OVER, cell))
        assert bare.evaluate("cells.at(-1)") == found


PLAYED = """async () => {
  const { Depth, Player } = await import("/views/layer_player.js");
  const player = (window.player = new Player(new Depth(), () => undefined));
  document.querySelector("main").replaceChildren(player.node);
  player.show({ nLayers: 3 });
  player.toggle.click();
  const before = player.playing;
  player.show({ nLayers: 2 });
  const after = player.playing;
  player.node.querySelector("[aria-label='Next layer']").click();
  return [before, after, player.said.textContent];
}"""


def test_the_player_is_stopped_by_another_run_the_last_layer_and_who_wants_less_motion(bare):
    assert bare.evaluate(PLAYED) == [True, False, "Layer 1 (0–1)"]
    play = bare.get_by_role("button", name="Play the layers")
    play.click()  # from the last layer it begins again
    assert bare.evaluate("[player.playing, player.selection.layer]") == [True, 0]
    bare.wait_for_function("!player.playing")
    assert bare.inner_text(".viz-player-said") == "Layer 1 (0–1)"
    play.click()
    bare.emulate_media(reduced_motion="reduce")
    play.wait_for(state="hidden")
    bare.wait_for_function("!player.playing")
    assert bare.evaluate("player.selection.layer") == 0
    bare.emulate_media(reduced_motion="no-preference")


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


# The cosines of three tokens of a run: the first, a special one, is left out.
MATRIX = """async (values) => {
  const { SimilarityMatrix } = await import("/vectors/similarity_matrix.js");
  window.heard = { chosen: [], hovered: [] };
  const acts = { choose: (at) => heard.chosen.push(at), hover: (at) => heard.hovered.push(at) };
  const told = document.createElement("p");
  window.matrix = new SimilarityMatrix(acts, told);
  document.querySelector("main").replaceChildren(matrix.node, told);
  const run = { tokens: ["[CLS]", "a", "b", "c"], named: (at) => `${at} “${run.tokens[at]}”` };
  const cells = { kept: [1, 2, 3], values: Float32Array.from(values), edges: [0, 1, 2, 3] };
  matrix.show(run, cells, 2);
}"""
PIXEL = """([row, column]) => {
  const [x, y] = matrix.view.middle(row, column, matrix);
  return Array.from(matrix.base.getContext("2d").getImageData(x, y, 1, 1).data.slice(0, 3));
}"""


def test_a_matrix_names_draws_and_chooses_the_row_before_the_column(bare):
    values = [[1, 0.2, -0.3], [0.4, 1, -0.5], [0.6, -0.7, 1]]
    bare.evaluate(MATRIX, [value for row in values for value in row])
    for row, column in [(0, 1), (2, 0), (1, 2)]:
        bare.mouse.move(*bare.evaluate("cell => matrix.box(...cell)", [row, column]))
        one, other = (f"{at + 1} “{'abc'[at]}”" for at in (row, column))
        said = f"{one} and {other}: cosine {values[row][column]:.4f}"
        assert bare.inner_text("main > p") == said
        red, _, blue = bare.evaluate(PIXEL, [row, column])
        assert (red > blue) is (values[row][column] > 0)
        bare.mouse.down()
        bare.mouse.up()
        assert bare.evaluate("[heard.chosen.at(-1), heard.hovered.at(-1)]") == [row + 1, row + 1]
    bare.focus(".viz-hidden-matrix")
    bare.keyboard.press("ArrowUp")
    assert bare.inner_text("main > p").startswith("1 “a” and 3 “c”")


PAIR = """async () => {
  const { PairLinksView } = await import("/explore/pair_links.js");
  const selection = { layer: 0, head: 0, name: "0.0", query: 1, key: 0, kept: "all", on: () => {} };
  Object.assign(selection, { hide: false, renorm: false, words: false });
  const [run, reference, other] = ["now", "before", "other"].map((key) => ({ key }));
  const tokens = ["a", "b"];
  const names = Object.assign(tokens.map((name) => ({ name })), { places: [0, 1] });
  Object.assign(run, { tokens, special: [false, false], nLayers: 1, shown: () => names });
  const compared = { aligned: [[0, 0]], cell: null, why: "" };
  const links = { weights: [[0.5]], ratios: [[2]] };
  run.json = async (path) => (path.startsWith("pair") ? links : compared);
  const view = new PairLinksView(selection, { other: reference, run, on: () => {} });
  await view.show(run);
  const known = [view.of({ query: 1, key: 0 }), view.of({ query: 0, key: 1 })];
  const runs = [[run, reference], [run, other], [other, reference]];
  const aligned = runs.map((two) => view.alignment(...two)?.aligned ?? null);
  return [known.map(({ length }) => length), aligned];
}"""


def test_an_alignment_is_that_of_its_two_runs_and_a_link_that_of_its_pair(bare):
    assert bare.evaluate(PAIR) == [[1, 0], [[[0, 0]], None, None]]


# 600 tokens, the first of them special, half of them of text B; each query looks at the token two
# after it, or at those that are given.
LINES = """async (looked_at) => {
  const { LinesView } = await import("/explore/lines.js");
  const listed = (from) => {
    const tokens = Array.from({ length: 600 - from }, (_, at) => from + at);
    const places = Int32Array.from({ length: 600 }, (_, at) => at - from);
    return Object.assign(tokens.map((at) => ({ name: `t${at}`, tokens: [at] })), { places });
  };
  const shown = { false: listed(0), true: listed(1) };
  const segments = Array.from({ length: 600 }, (_, at) => Number(at >= 300));
  const run = { key: "r", model: "m", nHeads: 1, segments };
  run.shown = ({ hide }) => shown[hide];
  run.shownRow = async ({ query, hide }) => {
    const { length, places } = shown[hide];
    const values = new Float32Array(length);
    const keys = looked_at ?? [query + 2];
    for (const token of keys) values[places[token]] = 0.75 / keys.length;
    return { values };
  };
  const changed = [];
  window.selection = { layer: 0, head: 0, name: "0.0", hide: false, kept: "all", query: 5, key: 0 };
  selection.on = (listener) => changed.push(listener);
  window.told = (names) => changed.forEach((listener) => listener(new Set(names)));
  window.lines = new LinesView(selection, () => {});
  document.querySelector("main").replaceChildren(lines.node);
  lines.node.open = true;
  await lines.show(run);
}"""
DRAWN = "kept => lines.node.dataset.painted?.includes(`:${kept}:`)"


def test_lines_begin_at_the_query_whose_row_came_and_names_are_of_what_is_shown(bare):
    bare.evaluate(LINES)
    bare.wait_for_function(DRAWN, arg="all")
    said = bare.get_attribute(".viz-lines-canvas", "aria-label")
    assert "5 “t5”" in said and "the strongest to key 7 “t7” (head 0.0: 0.7500)" in said
    assert bare.evaluate("lines.plan.names.slice(0, 2)") == ["t0", "t1"]
    bare.evaluate("Object.assign(selection, { hide: true, kept: 'hide' }) && told(['hide'])")
    bare.wait_for_function(DRAWN, arg="hide")
    assert bare.evaluate("lines.plan.names.slice(0, 2)") == ["t1", "t2"]
    said = bare.get_attribute(".viz-lines-canvas", "aria-label")
    assert "5 “t5”" in said and "the strongest to key 7 “t7”" in said


def test_of_a_long_pair_the_lines_between_its_texts_are_those_of_the_chosen_query(bare):
    bare.evaluate(LINES, [7, 407, 409])
    counted = {}
    for query in (5, 405):
        bare.evaluate("query => Object.assign(selection, { query }) && told(['query'])", query)
        bare.wait_for_function(DRAWN, arg=query)
        for pair in ("all", "AA", "AB", "BA", "BB"):
            bare.select_option("#viz-pair", pair)
            counted[query, pair] = int(bare.inner_text("#viz-lines-count").split()[0])
    assert counted == {
        **{(5, "all"): 3, (5, "AA"): 1, (5, "AB"): 2, (5, "BA"): 0, (5, "BB"): 0},
        **{(405, "all"): 3, (405, "AA"): 0, (405, "AB"): 0, (405, "BA"): 1, (405, "BB"): 2},
    }


AIMED = """async () => {
  const { HeadCells } = await import("/views/head_cells.js");
  const aimed = [];
  const node = document.querySelector("main");
  const options = { kind: "viz-share", sizes: [0, 0], parts: [], choose: () => {} };
  const aim = (place) => aimed.push(place ? `${place.layer}.${place.head}` : "left");
  const heads = new HeadCells(node, { ...options, aim });
  heads.enter(2, 3);
  const send = (type, layer, head, more) =>
    heads.cells[layer][head].dispatchEvent(new PointerEvent(type, { bubbles: true, ...more }));
  const rest = () => new Promise((done) => setTimeout(done, 80));
  send("pointerover", 0, 0);
  send("pointerover", 0, 1);
  await rest();
  send("pointerover", 1, 0, { pointerType: "touch" });
  await rest();
  heads.cells[1][1].focus();
  send("pointerdown", 1, 2);
  heads.cells[1][2].focus();
  await rest();
  node.dispatchEvent(new PointerEvent("pointerleave"));
  return aimed;
}"""


def test_a_head_is_aimed_at_where_the_pointer_rests_or_presses_and_not_where_it_sweeps(bare):
    bare.mouse.move(700, 500)
    assert bare.evaluate(AIMED) == ["left", "0.1", "left", "left", "1.2", "left"]


# Steps of the lesson whose answers come when another token, or another input, is shown.
LEFT = """async () => {
  const { TokensStep } = await import("/learn/step_tokens.js");
  const { DepthStep } = await import("/learn/step_depth.js");
  const settled = () => new Promise((done) => setTimeout(done));
  const acts = { layoutChanged: () => undefined };
  const held = Promise.withResolvers();
  const [depth, { patches }] = [new DepthStep(acts), new TokensStep(acts)];
  const said = (token) => [{ token, labels: [`word ${token}`], shares: [1] }];
  const answers = [said(0), held.promise.then(() => said(1))];
  const texts = { depth: {}, tokens: {} };
  for (const query of [0, 1, 0]) {
    const run = { key: "run", nLayers: 0, tasks: ["masked"], predictions: () => answers[query] };
    depth.show({ run, place: { query, key: query }, texts });
    await settled();
  }
  const picture = () => held.promise.then(() => new Image());
  const grid = { rows: 1, cols: 1, prefix: 0 };
  for (const run of [{ key: "a picture", grid, picture }, { key: "a text", grid: null }])
    patches.show({ run, place: { query: 0 }, texts });
  held.resolve();
  await settled();
  return [depth.table.textContent.includes("word 0"), patches.node.hidden];
}"""


def test_an_answer_that_comes_late_is_not_drawn_over_what_is_shown_by_then(bare):
    assert bare.evaluate(LEFT) == [True, True]
