"""What helps to read the big map: a scale that shows its weights, and the border of a pair."""

import math
import re

import numpy as np
import pytest

import viz_encoder as vz
from viz_encoder.ui.wire.static import address

LONG = "The trophy does not fit in the suitcase because it is too big. " * 27
HINT = ".viz-scale-hint"


@pytest.mark.slow
def test_a_nearly_white_map_is_told_and_mended_by_one_click(visit, minilm):
    page = visit(a=LONG, layer=1, head=4).painted()
    weights = vz.capture(minilm, LONG).attention(1, 4).double().numpy()
    share = (weights < 0.02 * weights.max()).mean()
    assert share > 0.95
    said = page.inner_text(f"{HINT} span span")
    assert (
        said
        == f"Hard to see: {math.floor(100 * share)}% of the weights are below 2% of this scale."
    )
    before = page.evaluate("document.querySelector('.viz-how-columns').offsetHeight")
    page.click(f"{HINT} button")
    low, high = np.quantile(weights, (0.01, 0.99))
    page.wait_for_function("vizTab.map.scale.name === 'percentile'")
    assert page.evaluate("[vizTab.map.scale.low, vizTab.map.scale.high]") == pytest.approx(
        [low, high], rel=1e-3
    )
    assert page.input_value("#viz-scale") == "percentile" and not page.is_visible(f"{HINT} button")
    legend = page.inner_text(".viz-legend-title")
    assert legend.endswith(f"; larger weights, up to {weights.max():.2f}, are clipped")
    page.wait_for_url(re.compile("scale=percentile"))
    assert page.evaluate("document.querySelector('.viz-how-columns').offsetHeight") - before <= 40


BAND = """axis => {  // three pixels a side, along a border: their brightness
  const { map } = window.vizTab;
  const each = map.canvas.width / map.canvas.getBoundingClientRect().width;
  const at = map.borders[axis] - map.view[axis ? "col" : "row"];
  const along = Math.floor((axis ? map.left : map.top) + (at * map.side) / map.view.span) - 1;
  const box = axis ? [along, map.top, 3, map.side] : [map.left, along, map.side, 3];
  const [x, y, width, height] = box.map((value) => Math.round(value * each));
  const copy = new OffscreenCanvas(width, height).getContext("2d");
  copy.drawImage(map.canvas, -x, -y);
  const { data } = copy.getImageData(0, 0, width, height);
  return [[height, width], Array.from({ length: data.length / 4 }, (_, at) => data[4 * at])];
}"""


@pytest.mark.slow
def test_the_border_of_a_pair_is_drawn_on_both_axes(visit, minilm):
    page = visit(a="The cat sat on the mat", b="It was tired", layer=3, head=5).painted()
    begins = vz.capture(minilm, ("The cat sat on the mat", "It was tired")).sample.segments.index(1)
    assert page.evaluate("vizTab.map.borders") == [begins, begins]
    for axis in (0, 1):
        shape, drawn = page.evaluate(BAND, axis)
        darkest = np.array(drawn).reshape(shape).min(axis=1 if axis else 0)
        assert (np.diff((darkest < 100).astype(int)) == 1).sum() >= 20  # dashes, from end to end
    svg = page.evaluate(
        """async ([address]) => {
          const { paperSvg } = await import(new URL(address, document.baseURI).href);
          return paperSvg(vizTab.map, vizTab.map.run, 86);
        }""",
        [address("explore/paper_figure.js")],
    )
    assert (
        svg.count('class="border"') == 2 and svg.count(">A</text>") == svg.count(">B</text>") == 2
    )
    page.click("text=hide special tokens")
    page.wait_for_function(
        f"vizTab.map.borders[0] === {begins - 2}"
    )  # without [CLS] and the first [SEP]
