"""The second map of the atlas: each head's statistic, and the heads that have most of it."""

import pytest

import viz_encoder as vz
from viz_encoder.analyses.survey import survey
from viz_encoder.ui.run import SENTENCES

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", ["previous", "entropy", "special"])
@pytest.mark.parametrize("least", [False, True])
def test_heads_are_ranked_by_what_the_survey_measures(visit, minilm, name, least):
    layers = survey(vz.capture(minilm, SENTENCES[0]))
    values = {
        f"{layer}.{head}": float(value)
        for layer, found in enumerate(layers)
        for head, value in enumerate(found.statistics[name])
    }
    opened = visit()
    opened.page.wait_for_selector(".viz-statistic[data-painted]", timeout=60_000)
    opened.page.select_option("#viz-statistic", name)
    opened.page.set_checked(".viz-statistic input[type=checkbox]", least)
    listed = opened.page.eval_on_selector_all(
        "[data-ranked]", "all => all.map(b => b.dataset.ranked)"
    )
    assert len(listed) == 6 and opened.page.locator("[data-stat]").count() == 72
    shown = [values[one] for one in listed]
    assert shown == sorted(shown, reverse=not least)
    rest = [value for one, value in values.items() if one not in listed]
    assert (min(rest) >= max(shown) - 1e-6) if least else (max(rest) <= min(shown) + 1e-6)


def test_a_ranked_head_is_chosen_by_click(visit):
    opened = visit()
    opened.page.wait_for_selector(".viz-statistic[data-painted]", timeout=60_000)
    opened.page.select_option("#viz-statistic", "previous")
    first = opened.page.get_attribute("[data-ranked] >> nth=0", "data-ranked")
    opened.page.click("[data-ranked] >> nth=0")
    opened.map_painted(first)
    assert opened.page.get_attribute("[data-ranked] >> nth=0", "aria-pressed") == "true"
