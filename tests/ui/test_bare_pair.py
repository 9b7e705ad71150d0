"""The links of a pair on a bare page: what is known of two runs is not told of two others."""

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
