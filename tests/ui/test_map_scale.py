"""What helps to read the big map: the border of a pair."""

import numpy as np
import pytest

import viz_encoder as vz
from viz_encoder.ui.wire.static import address

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
