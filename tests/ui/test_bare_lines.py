"""Lines of a long run on a bare page, of whose queries only the chosen one's row comes."""

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
