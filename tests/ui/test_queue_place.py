"""Who waits for a run is told the place and the seconds, over the old map, until it is its turn."""

import re
import threading

import pytest

from viz_encoder.ui.state.runner import Runner

NOTE = ".viz-page-note:not([hidden])"


@pytest.fixture
def held(monkeypatch):
    """Runs that begin, and end only once the event is set."""
    go_on, begun, run = threading.Event(), threading.Event(), Runner.run

    def wait(self, *given, **named):
        begun.set()
        assert go_on.wait(60)
        return run(self, *given, **named)

    monkeypatch.setattr(Runner, "run", wait)
    yield begun, go_on
    go_on.set()


def run(opened, text: str) -> None:
    if opened.page.is_visible(".viz-to-form"):  # where one line stands for the form
        opened.page.click(".viz-to-form")
    opened.page.fill("#viz-text-a textarea", text)
    opened.page.click("#viz-run")


@pytest.fixture(scope="module")
def pages(visit_once):
    """The pages of three people."""
    pages = [visit_once() for _ in range(3)]
    for opened in pages:
        opened.painted()
    return pages


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 390])
def test_who_waits_sees_the_place_and_the_seconds_over_the_old_map(pages, held, width):
    begun, go_on = held
    go_on.set()
    for opened in pages:
        opened.page.set_viewport_size({"width": width, "height": 1000})
    first, second, third = pages
    run(first, f"how long a run takes is known from now on at {width}")
    known = "known => vizTab.run?.link.a.endsWith(known)"
    first.page.wait_for_function(known, arg=f" {width}", timeout=60_000)
    go_on.clear()
    begun.clear()
    run(first, f"a first text at {width}")
    assert begun.wait(60)
    run(second, f"a second text at {width}")
    second.page.wait_for_selector(f"{NOTE}:has-text('place 1 of 1, ')", timeout=20_000)
    said = second.page.inner_text(NOTE)  # the estimate is of the runs before, here of a short one
    assert re.fullmatch(r"Waiting .* of 1, (about \d+ s left|longer than expected)\.", said)
    run(third, f"a third text at {width}")
    third.page.wait_for_selector(f"{NOTE}:has-text('place 2 of 2')", timeout=20_000)
    assert not first.page.is_visible(NOTE)  # it runs, and does not wait
    assert second.page.evaluate("vizTab.run.tokens.length") > 4  # the old run's map is still there
    box = third.page.locator(NOTE).bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["y"] + box["height"] <= 1000
    go_on.set()
    for opened, word in zip(pages, ("first", "second", "third"), strict=True):
        opened.page.wait_for_function(known, arg=f"{word} text at {width}", timeout=60_000)
        opened.page.wait_for_selector(NOTE, state="hidden")
