"""The atlas in the order of a statistic, searched in plain words, and against a reference."""

import math
import re

import numpy as np
import pytest

from tests.ui.texts import SENTENCES
from viz_encoder.analyses.survey import survey

KNOWN = ".viz-atlas[data-painted]"
N_HEADS = 12


@pytest.fixture(scope="module")
def surveyed(trace):
    return survey(trace)


@pytest.fixture
def opened(shared):
    return shared(layer=3, head=5)


def values(surveyed, statistic):
    """Of all heads, by layer and head."""
    return np.concatenate([found.statistics[statistic] for found in surveyed])


def shown(opened) -> list[str]:
    return opened.page.eval_on_selector_all(
        ".viz-atlas-cell", "all => all.map(cell => cell.dataset.head)"
    )


def names(indices) -> list[str]:
    return [f"{at // N_HEADS}.{at % N_HEADS}" for at in indices]


def selected(opened) -> list[str]:
    return opened.page.eval_on_selector_all(
        ".viz-atlas-cell[aria-pressed='true']", "all => all.map(cell => cell.dataset.head)"
    )


def test_the_order_is_that_of_the_statistic(opened, surveyed):
    before = shown(opened)
    assert before == names(range(72))
    opened.page.select_option("#viz-statistic", "entropy")
    assert shown(opened) == before  # a statistic alone moves nothing
    opened.page.select_option("#viz-order", "highest")
    assert shown(opened) == names(np.argsort(-values(surveyed, "entropy"), kind="stable"))
    assert selected(opened) == ["3.5"]
    standing = shown(opened)
    opened.page.focus(f".viz-atlas-cell[data-head='{standing[11]}']")
    opened.page.keyboard.press("ArrowRight")  # the next rank stands in the next row
    assert selected(opened) == [standing[12]]
    opened.page.select_option("#viz-order", "layer")
    assert shown(opened) == before


@pytest.mark.parametrize(
    ("text", "statistic", "bound", "says"),
    [
        ("heads that look at the previous token", "previous", 0.5, " of its weight on the"),
        ("[CLS]", "first", 0.5, "on the first token, here “[CLS]”"),
        ("low entropy", "entropy", -0.3 * math.log(15), "at most 0.812 nats (0.3 ×"),
        ("far", "distance", np.abs(np.subtract.outer(range(15), range(15))).mean(), "4.98 tokens"),
    ],
)
def test_a_search_keeps_the_heads_that_match(opened, surveyed, text, statistic, bound, says):
    measured = values(surveyed, statistic)
    kept = measured >= bound if bound > 0 else measured <= -bound
    opened.page.fill("#viz-find", text)
    said = opened.page.inner_text(".viz-order-said")
    assert says in said
    many = kept.sum()
    alone = f"Head {names(np.flatnonzero(kept))[0]} " if many == 1 else ""
    assert said.startswith(alone or f"{many or 'No'} head")
    out = opened.page.eval_on_selector_all(
        ".viz-atlas-cell", "all => all.map(c => c.classList.contains('viz-out'))"
    )
    assert out == (~kept).tolist()
    opened.page.fill("#viz-find", "")
    assert opened.page.locator(".viz-out").count() == 0


def test_enter_goes_to_the_next_match(opened, surveyed):
    measured = values(surveyed, "previous")
    matches = names(np.flatnonzero(measured >= 0.15))
    assert len(matches) > 2
    opened.page.fill("#viz-find", "previous token over 0.15")
    for name in [*matches, matches[0]]:
        opened.page.press("#viz-find", "Enter")
        assert selected(opened) == [name]


def test_heads_of_a_layer_are_chosen_together(opened):
    page = opened.page
    page.click(".viz-atlas-grid [data-head='3.1']", modifiers=["Control"])
    assert selected(opened) == ["3.1", "3.5"]
    assert page.evaluate("vizTab.selection.head") == "1,5"
    page.focus(".viz-atlas-grid [data-head='3.5']")
    page.keyboard.press("Shift+ArrowRight")
    assert selected(opened) == ["3.1", "3.5"]
    page.keyboard.press("Shift+Enter")
    assert page.evaluate("vizTab.selection.head") == "1,5,6"
    page.keyboard.press("Shift+Enter")
    page.click(".viz-atlas-grid [data-head='3.1']", modifiers=["Control"])
    assert page.evaluate("vizTab.selection.head") == 5
    page.click(".viz-atlas-grid [data-head='3.5']", modifiers=["Control"])  # the last one stays
    assert selected(opened) == ["3.5"]
    page.click(
        ".viz-atlas-grid [data-head='2.4']", modifiers=["Control"]
    )  # of another layer: begin again
    assert selected(opened) == ["2.4"]


@pytest.mark.slow
def test_nothing_below_moves_as_layers_come(visit):
    opened = visit(kind="text", a=SENTENCES[0])
    page = opened.page
    held, late = [], re.compile(r"/(thumbnails\?layer=0|pair\?|findings$)")
    page.route(late, lambda route: held.append(route))
    page.reload()
    page.wait_for_function("window.vizTab?.atlas.run && vizTab.source.node.dataset.painted")
    place = "document.querySelector('.viz-atlas .viz-figure-take').offsetTop"
    before = page.evaluate(place)
    while len(held) < 2:
        page.wait_for_event("request", timeout=10_000)
    for route in held:
        route.continue_()
    page.unroute(late)
    page.wait_for_selector(KNOWN, timeout=60_000)
    assert page.evaluate(place) == before


def test_no_choice_is_cut(opened):
    for name in ("viz-statistic", "viz-order"):
        opened.page.select_option(f"#{name}", index=1)
        cut = opened.page.eval_on_selector(
            f"#{name}",
            """(select) => {
              const ruler = document.createElement("canvas").getContext("2d");
              const style = getComputedStyle(select);
              ruler.font = style.font;
              const widths = [...select.options].map((o) => ruler.measureText(o.text).width);
              const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
              return Math.max(...widths) + padding - select.clientWidth;
            }""",
        )
        assert cut <= 0


def test_each_head_has_a_cell_that_can_be_hit(opened):
    page = opened.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("innerWidth === 390 && document.documentElement.scrollWidth <= 390")
    sides = page.eval_on_selector_all(
        ".viz-atlas-cell", "all => all.map(c => c.getBoundingClientRect().width)"
    )
    assert min(sides) >= 16


FOUND = "vizTab.measures.heads('previous').map(({ value }) => value)"


def shares(trace, layer, head, special):
    """The map of the tokens that are no special ones, its rows divided by their sums."""
    kept = [at for at in range(trace.n_tokens) if not special[at]]
    weights = trace.attention(layer, head).double().numpy()[np.ix_(kept, kept)]
    return weights / weights.sum(axis=1, keepdims=True)


def test_statistics_follow_the_switches_and_say_over_what_they_are(shared, trace):
    expected = [
        np.diag(shares(trace, layer, head, trace.sample.special), -1).mean()
        for layer in range(6)
        for head in range(12)
    ]
    page = shared().page
    page.select_option("#viz-statistic", "previous")
    page.select_option("#viz-order", "highest")
    plain = page.evaluate(FOUND)
    page.check("#viz-hide")
    page.check("#viz-renorm")
    page.wait_for_selector(".viz-atlas[data-painted][data-kept='hide+renorm']")
    assert page.evaluate(FOUND) == pytest.approx(expected, abs=2e-6)
    best = int(np.argmax(expected))
    first = page.get_attribute(".viz-atlas-cell >> nth=0", "data-head")
    assert first == f"{best // 12}.{best % 12}"
    said = page.inner_text(".viz-order")
    assert "Special tokens are left out." in said
    assert "Rows are renormalized: each is divided by its sum over the tokens shown." in said
    assert "Maps with special tokens hidden, rows renormalized" in page.inner_text(".viz-atlas")
    page.fill("#viz-find", "previous token over 0.5")
    many = sum(value >= 0.5 for value in expected)
    assert page.inner_text(".viz-order-said").startswith(f"{many} head")
    page.fill("#viz-find", "special tokens")
    assert "Special tokens are hidden; show them" in page.inner_text(".viz-order-said")
    page.fill("#viz-find", "")
    page.uncheck("#viz-renorm")
    page.uncheck("#viz-hide")
    page.wait_for_selector(".viz-atlas[data-painted][data-kept=all]")
    assert page.evaluate(FOUND) == plain
    assert "left out. " not in page.inner_text(".viz-order").replace("is left out.", "")
