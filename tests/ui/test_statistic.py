"""The second map of the atlas: each head's statistic, and the heads that have most of it."""

import re

import pytest

import viz_encoder as vz
from tests.ui.texts import SENTENCES
from viz_encoder.analyses.survey import survey

pytestmark = pytest.mark.browser
KNOWN = ".viz-statistic[data-painted]"


@pytest.fixture(scope="module")
def surveyed(minilm):
    return survey(vz.capture(minilm, SENTENCES[0]))


def by_name(surveyed, statistic):
    return {
        f"{layer}.{head}": float(value)
        for layer, found in enumerate(surveyed)
        for head, value in enumerate(found.statistics[statistic])
    }


@pytest.mark.parametrize("name", ["previous", "entropy", "special"])
@pytest.mark.parametrize("order", ["layer", "highest", "lowest"])
def test_heads_are_ranked_by_what_the_survey_measures(visit, surveyed, name, order):
    values, least = by_name(surveyed, name), order == "lowest"
    opened = visit()
    opened.page.wait_for_selector(KNOWN, timeout=60_000)
    opened.page.select_option("#viz-statistic", name)
    opened.page.select_option("#viz-order", order)
    listed = opened.page.eval_on_selector_all(
        "[data-ranked]", "all => all.map(b => b.dataset.ranked)"
    )
    assert len(listed) == 6 and opened.page.locator("[data-stat]").count() == 72
    shown = [values[one] for one in listed]
    assert shown == sorted(shown, reverse=not least)
    rest = [value for one, value in values.items() if one not in listed]
    assert (min(rest) >= max(shown) - 1e-6) if least else (max(rest) <= min(shown) + 1e-6)


def test_every_cell_says_its_value_with_the_unit_and_the_scale_ends_at_the_highest(visit, surveyed):
    values = by_name(surveyed, "distance")
    opened = visit()
    opened.page.wait_for_selector(KNOWN, timeout=60_000)
    opened.page.select_option("#viz-statistic", "distance")
    titles = opened.page.eval_on_selector_all(
        "[data-stat]", "all => all.map(cell => [cell.dataset.stat, cell.title])"
    )
    for name, title in titles:
        layer, head = name.split(".")
        said = re.fullmatch(rf"Layer {layer}, head {head}: (\d+\.\d+) tokens", title)
        assert float(said[1]) == pytest.approx(values[name], abs=6e-4)
    assert f"{max(values.values()):.2f} tokens" in opened.page.inner_text(
        ".viz-statistic .viz-stat-scale"
    )
    assert "not known" not in opened.page.inner_text(".viz-statistic .viz-stat-scale")


def test_what_is_not_known_has_its_own_color_and_stands_last(visit):
    opened = visit()
    opened.page.wait_for_selector(KNOWN, timeout=60_000)
    opened.page.evaluate("vizTab.measures.layers[0].entropy[2] = null")
    opened.page.select_option("#viz-order", "lowest")
    assert opened.page.get_attribute("[data-stat='0.2']", "title").endswith(": not known")
    assert "not known" in opened.page.inner_text(".viz-statistic .viz-stat-scale")
    assert "0.2" not in opened.page.eval_on_selector_all(
        "[data-ranked]", "all => all.map(b => b.dataset.ranked)"
    )
    assert opened.page.get_attribute(".viz-atlas-cell >> nth=71", "data-head") == "0.2"


def test_a_ranked_head_is_chosen_by_click(visit):
    opened = visit()
    opened.page.wait_for_selector(KNOWN, timeout=60_000)
    opened.page.select_option("#viz-statistic", "previous")
    first = opened.page.get_attribute("[data-ranked] >> nth=0", "data-ranked")
    opened.page.click("[data-ranked] >> nth=0")
    opened.map_painted(first)
    assert opened.page.get_attribute("[data-ranked] >> nth=0", "aria-pressed") == "true"
