"""What the form folds away: the architecture, another model, a saved run."""

import pytest

from tests.slow import slow


@pytest.mark.parametrize("width", [1440, slow(390)])
def test_what_is_folded_away_opens_below_its_title(shared, width):
    page = shared().page
    page.set_viewport_size({"width": width, "height": 1000})
    if width == 390:  # where one line stands for the form
        page.click(".viz-to-form")
    titles = page.locator("#viz-more .label-wrap")

    def places():  # from the button above: at 390 px the result lies over the form, and may grow
        return titles.evaluate_all(
            """all => all.map((one) => {
              const from = document.querySelector("#viz-run").getBoundingClientRect();
              const { x, y } = one.getBoundingClientRect();
              return [Math.round(x - from.x), Math.round(y - from.y)];
            })"""
        )

    before = places()
    for at in range(titles.count()):
        titles.nth(at).click()
        page.wait_for_function(
            "at => document.querySelectorAll('#viz-more .label-wrap + div')[at].offsetHeight > 40",
            arg=at,
        )
        assert places() == before
        titles.nth(at).click()
        page.wait_for_selector("#viz-more .label-wrap.open", state="detached")
