"""States of tokens, the player and exported maps on a bare page: a place is no token's number."""

# Three states of tokens 1, 3 and 4, the others being special; each has a place of its own.
PLANE = """async () => {
  const { PcaPanel } = await import("/vectors/pca.js");
  window.heard = { chosen: [], hovered: [] };
  const acts = { choose: (at) => heard.chosen.push(at), hover: (at) => heard.hovered.push(at) };
  window.panel = new PcaPanel(acts);
  document.querySelector("main").replaceChildren(panel.node);
  const values = Float32Array.from({ length: 18 }, (_, at) => (at % 2 ? at ** 2 % 11 : at));
  const run = { real: () => [1, 3, 4], named: (token) => `token ${token}` };
  run.numbers = async () => ({ values, shape: [3, 3, 2], about: { shares: [0.5, 0.25] } });
  await panel.draw({ run, special: false, token: 3, layer: 1 }, async (answer) => answer);
}"""


def test_a_point_of_the_plane_is_the_token_that_is_shown_there(bare):
    bare.evaluate(PLANE)
    for layer, token in [(1, 4), (2, 1), (0, 3)]:
        bare.mouse.click(*bare.evaluate("place => panel.box(...place)", [token, layer]))
        heard = bare.evaluate("heard")
        assert heard["chosen"][-1] == heard["hovered"][-1] == token
        at = 3 * layer + [1, 3, 4].index(token)
        blocks = ["in the embeddings", "after 1 block", "after 2 blocks"][layer]
        point = 2 * at, (2 * at + 1) ** 2 % 11
        assert bare.inner_text(".viz-hidden-told") == f"token {token} {blocks}: {point}"


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
  map.layout(400, { least: 10, most: 40 });
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
  const player = new Player(new Depth(), () => undefined);
  document.querySelector("main").replaceChildren(player.node);
  player.show({ nLayers: 3 });
  player.toggle.click();
  const before = player.playing;
  player.show({ nLayers: 2 });
  const after = player.playing;
  player.node.querySelector("[aria-label='Next layer']").click();
  return [before, after, player.said.textContent];
}"""


def test_another_run_stops_the_player(bare):
    assert bare.evaluate(PLAYED) == [True, False, "Layer 1 (0–1)"]
