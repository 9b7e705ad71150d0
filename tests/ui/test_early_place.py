"""The first map is there before Gradio has built the page, and moves into it as it is."""

import pytest

from tests.ui.conftest import listen_for_errors

PLACE = "#viz-early"


@pytest.fixture
def held(profile, site):
    """A page whose Gradio waits, with what lets it go on; and the faults that it reported."""
    page, waiting, faults = profile.new_page(), [], []
    listen_for_errors(page, faults.append)
    page.route("**/assets/Blocks-*.js", lambda route: waiting.append(route))

    def go_on():
        while not waiting:  # it was not asked for yet
            page.wait_for_timeout(20)
        for route in waiting:
            route.continue_()

    yield page, site, go_on
    page.close()
    assert faults == []


def test_the_first_map_is_there_before_the_page_and_stays(held):
    page, site, go_on = held
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.goto(site)
    page.wait_for_selector(f"{PLACE} .viz-how[data-painted]", timeout=60_000)
    assert page.query_selector("#viz-run") is None
    page.click(".viz-share-grid [data-head='3.1']")
    page.wait_for_selector(f"{PLACE} .viz-map[data-painted*=':3.1:']")
    asked = (
        "performance.getEntriesByType('resource').filter((each) => /viz.first$/.test(each.name))"
    )
    assert page.evaluate(f"{asked}.length") == 1  # what the head asked for is what the script takes
    before = page.locator(".viz-answer").bounding_box()
    go_on()
    page.wait_for_selector("#viz-run")
    page.wait_for_selector("#viz-explore .viz-map[data-painted*=':3.1:']")
    assert page.query_selector(PLACE) is None
    page.wait_for_selector("#viz-explore .viz-findings[data-painted]", state="attached")
    after = page.locator(".viz-answer").bounding_box()
    moved = {side: after[side] - before[side] for side in before}
    assert max(map(abs, moved.values())) < 3, moved  # nothing jumps
    page.click(".viz-share-grid [data-head='3.4']")
    page.wait_for_selector(".viz-map[data-painted*=':3.4:']")
    assert "head=4" in page.url


@pytest.mark.slow
@pytest.mark.parametrize(("width", "query"), [(390, ""), (1440, "?kind=text&a=Hello")])
def test_there_is_no_early_place_where_the_tab_would_jump(held, width, query):
    page, site, go_on = held
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{site}{query}")
    page.wait_for_function("document.querySelectorAll('script[src$=\"core.js\"]').length > 0")
    assert page.query_selector(PLACE) is None
    go_on()
    page.wait_for_selector("#viz-explore .viz-map[data-painted]", timeout=60_000)
    assert page.query_selector(PLACE) is None
