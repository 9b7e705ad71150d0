"""The signed map: what is drawn, said and scaled is one run less another, computed by numpy."""

import math
import re

import numpy as np
import pytest

import viz_encoder as vz
from tests.ui.conftest import saved

TEXT = "The animal didn't cross the street because it was too tired"
OTHER = TEXT.replace("tired", "wide")
IT, ANIMAL, WIDE = 10, 2, 13
PLACE = {"layer": 3, "head": 1, "query": IT, "key": ANIMAL}


# The colors of cells beside their printed numbers, read back at once.
PIXELS = """(cells) => {
  const { map } = vizTab, { canvas, context } = map, r = devicePixelRatio;
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  return cells.map(([row, col]) => {
    const [x, y] = map.view.middle(row, col, map);
    const at = 4 * (Math.round((y + 9) * r) * canvas.width + Math.round((x + 8) * r));
    return [...data.slice(at, at + 3)];
  });
}"""


@pytest.fixture(scope="module")
def maps(minilm):
    """now and before, "run layer head query key"."""
    runs = [vz.capture(minilm, text) for text in (OTHER, TEXT)]
    return np.stack([[run.attention(at).numpy() for at in range(6)] for run in runs])


@pytest.fixture
def opened(shared):
    """The page on that change."""
    opened = shared(show_the_change)
    opened.page.wait_for_function("vizTab.changes.most > 0")
    return opened


def show_the_change(opened):
    page = opened.page
    page.evaluate("place => vizTab.selection.set(place)", PLACE)
    before = page.evaluate("vizTab.run.key")
    page.locator(".viz-swap").click()
    page.wait_for_selector(f".viz-atlas[data-painted]:not([data-painted='{before}'])")
    page.get_by_role("button", name="Show the change", exact=True).click()
    page.wait_for_selector(".viz-map[data-painted*=':change:']")


def expected(maps, layer, head):
    change = maps[0, layer, head] - maps[1, layer, head]
    change[WIDE] = change[:, WIDE] = np.nan  # in one run only
    return change


def test_the_big_map_is_now_less_before(opened, maps):
    page = opened.page
    found = page.evaluate("[...vizTab.map.tiles[0].values]")
    change = expected(maps, 3, 1)
    np.testing.assert_allclose(np.array(found, float).reshape(15, 15), change, atol=2e-6)
    now, was = maps[:, 3, 1, IT, ANIMAL]
    pair = "3.1 query 10 “it” → key 2 “animal”"
    said = " ".join(page.inner_text(".viz-readout").split())
    assert said == f"{pair}: {now:.2f} (was {was:.2f}, −{was - now:.2f})"
    assert page.inner_text(".viz-map h3") == "Change from the reference: layer 3, head 1 (3.1)"
    alone = opened.hover(IT, WIDE)
    assert "key 13 “wide” is not in the reference" in alone
    assert f": {maps[0, 3, 1, IT, WIDE]:.2g} now; " in alone


def test_all_heads_share_one_symmetric_scale(opened, maps):
    page = opened.page
    every = [abs(expected(maps, layer, head)) for layer in range(6) for head in range(12)]
    most = np.nanmax(every)
    assert page.evaluate("vizTab.changes.most") == pytest.approx(most, abs=2e-6)
    assert page.evaluate("[vizTab.map.scale.low, vizTab.map.scale.high]") == pytest.approx(
        [-most, most], abs=2e-6
    )
    assert page.get_attribute(".viz-legend canvas", "aria-label").startswith("Color scale from -")
    legend = page.inner_text(".viz-legend")
    assert "now − before" in legend and "token in one run only" in legend
    assert "masked" not in legend
    cells = [[IT, ANIMAL], [IT, 0], [12, 0], [4, 4]]
    drawn = page.evaluate(PIXELS, cells)
    for (row, col), color in zip(cells, drawn, strict=True):
        share = float(expected(maps, 3, 1)[row, col] / most)
        rooted = math.copysign(math.sqrt(abs(share)), share)  # so that small changes show
        wanted = opened.imported("core/colors.js", "m.signedColors()(given)", rooted)
        assert color == pytest.approx(wanted, abs=3)
    assert drawn[0][2] > drawn[0][0] + 40 and drawn[1][0] > drawn[1][2] + 40  # less, more


def test_keys_walk_it_and_the_switch_gives_the_plain_map_back(opened, maps):
    page = opened.page
    assert "change=1" in page.evaluate("location.search")
    page.focus(".viz-map-canvas")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("vizTab.selection.key === 3")
    change = maps[0, 3, 1, IT, 3] - maps[1, 3, 1, IT, 3]
    sign = "−" if change < 0 else "+"
    assert f", {sign}{abs(change):.2g})" in page.inner_text(".viz-readout")
    page.get_by_label("Hide special tokens").check()
    page.wait_for_selector(".viz-map[data-painted*='hide:change']")
    found = page.evaluate("[...vizTab.map.tiles[0].values]")
    change = expected(maps, 3, 1)[1:14, 1:14]
    np.testing.assert_allclose(np.array(found, float).reshape(13, 13), change, atol=2e-6)
    page.get_by_role("button", name="Show the change", exact=True).click()
    page.wait_for_selector(".viz-map[data-painted$=':hide']")
    assert page.inner_text(".viz-map h3").startswith("Layer 3, head 1")
    found = page.evaluate("[...vizTab.map.tiles[0].values]")
    np.testing.assert_allclose(found, maps[0, 3, 1, 1:14, 1:14].ravel(), atol=2e-6)
    page.wait_for_function("!location.search.includes('change=1')")


def test_the_picture_that_is_saved_under_the_map_is_of_the_change(opened, maps):
    page, row = opened.page, ".viz-map"
    reference = "“The animal didn't cross…was too tired”"
    name, content = saved(page, row, "SVG")
    assert re.search(r"-3\.1-change-all\.svg$", name)
    words = " ".join(re.findall(r">([^<>]+)</text>", content.decode()))
    assert f"Change of layer 3, head 1 (3.1) from {reference}." in words
    assert "now − before" in words and "token in one run only" in words
    most = max(np.nanmax(abs(expected(maps, at, head))) for at in range(6) for head in range(12))
    assert f"+{most:.2g}" in words and f"−{most:.2g}" in words
    stops = re.findall(r'stop-color="([^"]+)"', content.decode())
    assert (stops[0], stops[-1]) == ("rgb(43 92 158)", "rgb(168 50 31)")  # blue = less, red = more
    name, _ = saved(page, row, "PNG")
    assert name.endswith("-3.1-change-all.png")
