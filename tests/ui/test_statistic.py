"""The second map of the atlas: each head's statistic, and the heads that have most of it."""

import re

import numpy as np
import pytest

import viz_encoder as vz
from tests.ui.texts import SENTENCES
from viz_encoder.analyses.survey import survey

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


def test_every_cell_says_its_value_with_the_unit_and_the_scale_ends_at_the_highest(
    shared, surveyed
):
    values = by_name(surveyed, "distance")
    opened = shared()
    opened.page.select_option("#viz-statistic", "distance")
    titles = opened.page.eval_on_selector_all(
        ".viz-stat-cell", "all => all.map(cell => [cell.dataset.head, cell.title])"
    )
    for name, title in titles:
        said = re.fullmatch(rf"Head {re.escape(name)}: (\d+\.\d+) tokens", title)
        assert float(said[1]) == pytest.approx(values[name], abs=6e-4)
    opened.page.locator(
        ".viz-folded summary", has_text="One statistic"
    ).scroll_into_view_if_needed()
    lies = {
        name: opened.page.locator(f".viz-stat-cell[data-head='{name}']").bounding_box()
        for name in ("0.0", "0.3", "2.0")
    }
    assert lies["0.3"]["y"] == lies["0.0"]["y"] and lies["0.3"]["x"] > lies["0.0"]["x"]
    assert lies["2.0"]["x"] == lies["0.0"]["x"] and lies["2.0"]["y"] > lies["0.0"]["y"]
    assert f"{max(values.values()):.2f} tokens" in opened.page.inner_text(
        ".viz-statistic .viz-stat-scale"
    )
    assert "not known" not in opened.page.inner_text(".viz-statistic .viz-stat-scale")


@pytest.mark.slow
def test_what_is_not_known_has_its_own_color_and_stands_last(visit):
    opened = visit()
    opened.page.wait_for_selector(KNOWN, timeout=60_000)
    opened.page.evaluate("vizTab.measures.layers[0].entropy[2] = null")
    opened.page.select_option("#viz-order", "lowest")
    assert opened.page.get_attribute(".viz-stat-cell[data-head='0.2']", "title").endswith(
        ": not known"
    )
    assert "not known" in opened.page.inner_text(".viz-statistic .viz-stat-scale")
    assert "0.2" not in opened.page.eval_on_selector_all(
        "[data-ranked]", "all => all.map(b => b.dataset.ranked)"
    )
    assert opened.page.get_attribute(".viz-atlas-cell >> nth=71", "data-head") == "0.2"


def test_a_ranked_head_is_chosen_by_click(shared):
    opened = shared()
    opened.page.select_option("#viz-statistic", "previous")
    first = opened.page.get_attribute("[data-ranked] >> nth=0", "data-ranked")
    opened.page.click("[data-ranked] >> nth=0")
    opened.map_painted(first)
    assert opened.page.get_attribute("[data-ranked] >> nth=0", "aria-pressed") == "true"


def shares(trace, layer, head, special):
    """The map of the tokens that are no special ones, its rows divided by their sums."""
    kept = [at for at in range(trace.n_tokens) if not special[at]]
    weights = trace.attention(layer, head).double().numpy()[np.ix_(kept, kept)]
    return weights / weights.sum(axis=1, keepdims=True)


def test_statistics_follow_the_switches_and_say_over_what_they_are(shared, minilm):
    trace = vz.capture(minilm, SENTENCES[0])
    expected = {
        f"{layer}.{head}": np.diag(shares(trace, layer, head, trace.sample.special), -1).mean()
        for layer in range(6)
        for head in range(12)
    }
    page = shared().page
    page.select_option("#viz-statistic", "previous")
    page.select_option("#viz-order", "highest")
    plain = page.inner_text("[data-ranked] >> nth=0")
    page.check("#viz-hide")
    page.check("#viz-renorm")
    page.wait_for_selector(".viz-atlas[data-painted][data-kept='hide+renorm']")
    titles = page.eval_on_selector_all(
        ".viz-stat-cell", "all => all.map(cell => [cell.dataset.head, cell.title])"
    )
    for name, title in titles:
        assert float(title.split(": ")[1].split()[0]) == pytest.approx(expected[name], abs=6e-4)
    best = max(expected, key=expected.get)
    assert page.get_attribute("[data-ranked] >> nth=0", "data-ranked") == best
    said = page.inner_text(".viz-stat-heading")
    assert "Special tokens are left out." in said
    assert "Rows are renormalized: each is divided by its sum over the tokens shown." in said
    assert "Maps with special tokens hidden, rows renormalized" in page.inner_text(".viz-atlas")
    page.fill("#viz-find", "previous token over 0.5")
    many = sum(value >= 0.5 for value in expected.values())
    assert page.inner_text(".viz-order-said").startswith(f"{many} head")
    page.fill("#viz-find", "special tokens")
    assert "Special tokens are hidden; show them" in page.inner_text(".viz-order-said")
    page.fill("#viz-find", "")
    page.uncheck("#viz-renorm")
    page.uncheck("#viz-hide")
    page.wait_for_selector(".viz-atlas[data-painted][data-kept=all]")
    assert page.inner_text("[data-ranked] >> nth=0") == plain
    assert "left out. " not in page.inner_text(".viz-stat-heading").replace("is left out.", "")


def test_colors_shared_by_heads_go_up_to_the_largest_weight_that_is_shown(shared, minilm):
    trace = vz.capture(minilm, SENTENCES[0])
    kept = [at for at in range(trace.n_tokens) if not trace.sample.special[at]]
    whole = trace.attention(5).numpy()
    largest = whole[:, kept][:, :, kept].max()
    assert largest < whole.max() - 0.01
    opened = shared(layer=5, hide=1, scale="layer")
    opened.page.wait_for_selector(".viz-map[data-painted*=':5.0:']")
    opened.page.wait_for_function(
        "largest => Math.abs(vizTab.map.scale?.high - largest) < 1e-6", arg=float(largest)
    )
