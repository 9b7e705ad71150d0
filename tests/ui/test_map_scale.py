"""Maps that a linear scale leaves nearly white or black: told, and made readable by one click."""

import math
import re

import numpy as np
import pytest
import torch

import viz_encoder as vz
from viz_encoder.inputs import Sample
from viz_encoder.trace import LayerTrace
from viz_encoder.trace.layer import Origin

pytestmark = pytest.mark.browser
LONG = "The trophy does not fit in the suitcase because it is too big. " * 27
HINT = ".viz-scale-hint"
PIXEL = """([row, column]) => {
  const { map } = window.vizTab;
  const page = map.canvas.getBoundingClientRect();
  const [x, y] = map.box(row, column);
  const each = map.canvas.width / page.width;
  const at = [(x - page.left) * each, (y - page.top) * each].map(Math.round);
  return [...map.context.getImageData(...at, 1, 1).data.slice(0, 3)];
}"""


def test_a_nearly_white_map_is_told_and_mended_by_one_click(visit, minilm):
    opened = visit(a=LONG, layer=1, head=4)
    opened.painted()
    page = opened.page
    weights = vz.capture(minilm, LONG).attention(1, 4).double().numpy()
    share = (weights < 0.02 * weights.max()).mean()
    assert share > 0.95
    said = page.inner_text(f"{HINT} span span")
    assert (
        said
        == f"Hard to see: {math.floor(100 * share)}% of the weights are below 2% of this scale."
    )
    before = page.evaluate("document.querySelector('.viz-matrix').offsetHeight")
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
    assert page.evaluate("document.querySelector('.viz-matrix').offsetHeight") - before <= 40


def test_a_nearly_black_map_is_told(visit, tmp_path):
    """A head that looks nearly evenly: every weight is above half of the largest."""
    rng = torch.Generator().manual_seed(0)
    drawn = [0.2 * torch.randn(1, 40, 8, generator=rng) for _ in range(3)]
    names = tuple(f"t{at}" for at in range(40))
    plain = Sample(tokens=names, special=(False,) * 40, words=(None,) * 40, segments=(0,) * 40)
    layer = LayerTrace(*drawn, scale=1.0)
    valid = torch.ones(40, dtype=torch.bool)
    run = vz.Trace((layer,), (), torch.zeros(40, 8), valid, plain, Origin("random"))
    run.save(tmp_path / "run.safetensors")
    weights = run.attention(0, 0).double().numpy()
    deep = (weights > weights.max() / 2).mean()
    assert deep > 0.95
    opened = visit()
    opened.painted()
    assert opened.page.inner_text(HINT) == ""  # the opening map can be read
    opened.open_saved(tmp_path / "run.safetensors")
    opened.page.wait_for_url("**run=**")
    opened.map_painted("0.0")
    said = opened.page.inner_text(f"{HINT} span span")
    assert (
        said
        == f"Hard to see: {math.floor(100 * deep)}% of the weights are above half of this scale."
    )
    opened.page.click(f"{HINT} button")
    low, high = np.quantile(weights, (0.01, 0.99))
    opened.page.wait_for_function("vizTab.map.scale.name === 'percentile'")
    row, column = np.unravel_index(weights.argmin(), weights.shape)
    pale = opened.page.evaluate(PIXEL, [int(row), int(column)])
    assert pale == [0xFA, 0xFD, 0xFB]  # the first color of the ramp, for it is clipped
    ticks = opened.page.get_attribute(".viz-legend canvas", "aria-label")
    assert ticks == f"Color scale from {low:.4f} to {high:.4f}"
