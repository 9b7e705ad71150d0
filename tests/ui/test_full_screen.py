"""A view alone in the window, and the row under it that saves what it shows in one click."""

import csv
import io

import numpy as np
import pytest
from PIL import Image

import viz_encoder as vz
from tests.slow import slow
from tests.ui.conftest import saved
from tests.ui.texts import SENTENCES
from viz_encoder.analyses.survey import survey

API = """api => {
  const its = Element.prototype;
  its.kept ??= its.requestFullscreen;
  its.requestFullscreen = api ? its.kept : undefined;
}"""
ALONE = ".viz-full"
FITS = """([alone, canvas]) => {
  const { scrollHeight, clientHeight } = document.querySelector(alone);
  const { bottom } = document.querySelector(canvas).getBoundingClientRect();
  return scrollHeight <= clientHeight && bottom <= innerHeight;
}"""


def box(page, selector):
    return page.locator(selector).first.bounding_box()


@pytest.mark.parametrize("api", [True, slow(False)], ids=["full screen", "over the page"])
@pytest.mark.parametrize("name", ["map", slow("atlas")])
def test_a_view_alone_fills_the_window_and_grows(shared, name, api):
    page = shared(layer=3, head=5).page
    page.wait_for_selector(".viz-atlas[data-painted]", timeout=60_000)
    page.evaluate(API, api)
    canvas = f".viz-{name} .viz-stage canvas"
    before = box(page, canvas)
    page.locator(f".viz-{name} .viz-full-open").click()
    page.wait_for_function(
        "old => document.querySelector(old[0]).offsetWidth > old[1] + 20",
        arg=[canvas, before["width"]],
    )
    alone, size = box(page, ALONE), page.viewport_size
    assert (alone["x"], alone["y"]) == (0, 0)
    assert (alone["width"], alone["height"]) == (size["width"], size["height"])
    page.wait_for_function("api => Boolean(document.fullscreenElement) === api", arg=api)
    page.wait_for_function(FITS, arg=[ALONE, canvas])  # its width comes a frame before its height
    page.keyboard.press("Escape")
    page.wait_for_selector(ALONE, state="detached")
    page.wait_for_function(
        "old => document.querySelector(old[0]).offsetWidth === old[1]",
        arg=[canvas, before["width"]],
    )
    assert page.locator(f".viz-{name} .viz-full-open").get_attribute("aria-pressed") == "false"
    page.evaluate(API, True)


@pytest.mark.slow
def test_the_row_the_lines_and_all_heads_are_saved_as_they_are_shown(shared, minilm):
    page = shared(layer=3, head=1, query=10, key=2, hide=1, renorm=1, scale="sqrt").page
    page.wait_for_selector(".viz-source[data-painted]")
    page.evaluate("document.querySelector('.viz-lines').open = true")
    page.wait_for_selector(".viz-lines[data-painted]")
    trace = vz.capture(minilm, SENTENCES[0])
    lines = list(csv.reader(io.StringIO(saved(page, ".viz-source", "CSV")[1].decode())))
    row = trace.attention(3, 1)[10, 1:-1].double().numpy()
    assert lines[0][2] == "weight of query 10 “it”"
    assert [int(line[0]) for line in lines[1:]] == list(range(1, 14))
    assert [line[1].removeprefix("'") or "'" for line in lines[1:]] == list(trace.tokens[1:-1])
    found = [float(line[2]) for line in lines[1:]]
    np.testing.assert_allclose(found, row / row.sum(), rtol=2e-5)
    picture = Image.open(io.BytesIO(saved(page, ".viz-lines", "PNG")[1]))
    assert picture.getpixel((0, 0))[3] == 255 and len(picture.getcolors(1 << 24)) > 50
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    saved(page, ".viz-atlas", "PNG")
    (url,) = [url for url in asked if "head_atlas" in url]
    assert url.endswith("scale=sqrt&hide_special=yes&renormalize=yes")


@pytest.mark.slow
def test_the_key_f_is_for_the_view_under_the_pointer_and_not_for_fields(shared):
    opened = shared(layer=3, head=5)
    opened.painted()  # from here on nothing moves from under the pointer
    opened.map_painted("3.5")
    page = opened.page
    page.hover(".viz-map-canvas")
    page.wait_for_selector(".viz-map-canvas:hover")
    page.keyboard.press("f")
    page.wait_for_selector(".viz-map.viz-full")
    page.keyboard.press("h")  # keys go on to work
    page.wait_for_function("location.href.includes('head=6')")
    page.keyboard.press("f")
    page.wait_for_selector(ALONE, state="detached")
    page.focus("#viz-find")
    page.keyboard.type("far off")
    assert page.locator(ALONE).count() == 0


def test_a_view_left_before_the_browser_has_begun_leaves_no_full_screen(shared):
    """Else the view lies over the page, and nothing else can be pressed."""
    page = shared(layer=3, head=5).painted()
    page.evaluate("""() => {
      window.turns = [];
      const note = () => turns.push(Boolean(document.fullscreenElement));
      document.addEventListener("fullscreenchange", note);
      const opener = document.querySelector(".viz-map .viz-full-open");
      opener.click();
      opener.click();
    }""")
    page.wait_for_function("turns.join() === 'true,false'", timeout=10_000)
    assert page.locator(ALONE).count() == 0
    page.locator(".viz-atlas .viz-figure-take button").first.click(trial=True)


def test_all_heads_are_saved_in_one_click(shared, minilm):
    page = shared().page
    page.wait_for_selector(".viz-atlas[data-painted]", timeout=60_000)
    lines = list(csv.DictReader(io.StringIO(saved(page, ".viz-atlas", "CSV")[1].decode())))
    found = survey(vz.capture(minilm, SENTENCES[0]))
    assert len(lines) == 72
    for line in lines:
        values = found[int(line["layer"])].statistics
        for name in ("entropy", "previous", "special", "largest"):
            expected = float(values[name][int(line["head"])])
            assert float(line[name]) == pytest.approx(expected, rel=2e-5, abs=1e-6)
    assert Image.open(io.BytesIO(saved(page, ".viz-atlas", "PNG")[1])).width >= 1000
