"""The live view in Chromium: Explore in a frame, whose numbers and selection are Python's."""

import pytest

import viz_encoder as vz
from tests.ui.notebook_host import choose, hosted
from viz_encoder.bundled import asset


@pytest.fixture(scope="module")
def animal(minilm):
    return vz.capture(minilm, "The animal didn't cross the street because it was too tired")


def opened(page):
    frame = page.frame_locator("iframe")
    frame.locator(".viz-map[data-painted]").wait_for(timeout=30_000)
    return frame


def title(frame, text: str) -> None:
    frame.locator(".viz-map h3", has_text=text).wait_for(timeout=30_000)


def test_the_selection_goes_both_ways(chromium, animal):
    view = animal.show(layer=3, head=1, query="it", live=True)
    with hosted(chromium, view) as page:
        frame = opened(page)
        title(frame, "(3.1)")
        said = frame.locator(".viz-readout[role=status]").first
        weight = float(animal.attention(3, 1)[10, 2])
        assert f"3.1 query 10 “it” → key 2 “animal”: {weight:.4f}" in said.inner_text()
        choose(page, view, layer=2, head=4, key="street")
        title(frame, "(2.4)")
        weight = float(animal.attention(2, 4)[10, animal.tokens.index("street")])
        said.filter(has_text=f"2.4 query 10 “it” → key 8 “street”: {weight:.4f}").wait_for()
        frame.get_by_role("button", name="Contribution").click()
        page.wait_for_function("model.saved.measure === 'contribution'")
        frame.locator(".viz-shares h3", has_text="brings").wait_for(timeout=30_000)
        assert (view.layer, view.head, view.measure) == (2, 4, "contribution")
        frame.locator("body").evaluate("() => vizTab.map.choose([9, 8])")  # as a click does
        page.wait_for_function("model.saved.query === 9")
        assert view.selection.query_token == "because" and view.selection.key_token == "street"


def test_effects_are_measured_by_the_kernel(chromium, minilm):
    view = vz.capture(minilm, "The animal was tired").show(live=True)
    with hosted(chromium, view) as page:
        frame = opened(page)
        choose(page, view, measure="effect")
        frame.locator(".viz-shares h3", has_text="removing").wait_for(timeout=60_000)
        assert any("attribution/effect?" in path for path in page.evaluate("model.sent"))


def test_a_picture_is_there_with_its_patches(chromium):
    view = vz.capture(vz.load("scene", device="cpu"), asset("examples/digit.png")).show(live=True)
    with hosted(chromium, view, ink="#ddd") as page:
        frame = opened(page)
        frame.locator("html.dark").wait_for()
        frame.locator(".viz-input canvas, .viz-picture").first.wait_for()
        assert sum("picture.png" in path for path in page.evaluate("model.sent")) >= 1


def test_what_was_changed_is_the_run_that_python_sees(chromium, animal):
    view = animal.show(layer=3, head=1, query="it", live=True)
    with hosted(chromium, view) as page:
        frame = opened(page)
        page.wait_for_function("model.saved._run", timeout=60_000)
        first = page.evaluate("model.saved._run")
        frame.get_by_role("button", name="remove head 3.1").click(timeout=60_000)
        page.wait_for_function("first => model.saved._run !== first", arg=first, timeout=60_000)
        assert view.trace.removed == ((3, 1),)
