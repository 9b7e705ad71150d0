"""A picture of patches on a bare page: more columns than rows, and tokens before it."""

import pytest

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
PAINT = """([values, own, marked]) => {
  const boxes = [];
  picture.context.strokeRect = (...box) => boxes.push(box);
  picture.mark(marked, marked, marked);
  const what = { sum: "weight", of: "weight", own, top: "", unit: "share" };
  picture.paint(Float32Array.from(values), scales, what);
  const place = (pixels) => Math.floor(pixels / picture.patch);
  const patches = boxes.map(([x, y]) => 3 * place(y) + place(x));
  return [picture.kept.textContent, [...new Set(patches)]];
}"""


def test_a_unit_is_its_patch_and_prefix_tokens_are_none(bare):
    bare.evaluate(PICTURE)
    values = [0.125, 0.0625, 0, 0.25, 0, 0.5, 0, 0.0625]
    said, framed = bare.evaluate(PAINT, [values, -1, 6])
    assert framed == [6 - 2]
    assert said == (
        "All 6 patches are shaded. The prefix tokens hold 18.8% of the whole weight, and are not "
        "counted."
    )
    bare.mouse.click(*bare.evaluate("picture.box(5)"))
    assert bare.evaluate("chosen") == [5]
    bare.keyboard.press("ArrowRight")  # from the marked one
    assert bare.evaluate("chosen.at(-1)") == 7


def test_what_a_patch_has_of_itself_is_counted_in_the_whole_alone(bare):
    bare.evaluate(PICTURE)
    values = [0.125, 0.0625, 0, 0.25, 0, 0.5, 0, 0.0625]
    said, _ = bare.evaluate(PAINT, [values, 5 - 2, 5])  # as much as all the others
    assert f"{0.1875 / 1:.1%} of the whole weight" in said
    bare.fill("#viz-keep", "50")
    said = bare.inner_text(".viz-held")
    assert said.startswith("The strongest 1 of 5 patches holds 80.0% of the weight on patches, the")


SHARES = """async (values) => {
  const { Shares } = await import("/vectors/token_shares.js");
  const shares = new Shares("Shares");
  document.querySelector("main").replaceChildren(shares.node);
  const tokens = values.map((_, at) => `t${at}`);
  const grid = { rows: 2, cols: 3, prefix: 2 };
  const say = (at) => `said of ${at}`;
  shares.show({ tokens, values, grid, picture: "", unit: "share", say });
  window.shares = shares;
}"""
STRONG = """() => {
  const { canvas, patch, context } = shares.patches;
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
