"""The answer first: what the page opens on, the heads of a pair, a swapped word, the examples."""

import numpy as np
import pytest

import viz_encoder as vz
from tests.ui.conftest import described, until_said
from tests.ui.texts import SENTENCES
from viz_encoder.ui.state.examples import EXAMPLES

TEXT = SENTENCES[0]
IT, ANIMAL = 10, 2


@pytest.fixture(scope="module")
def maps(minilm):
    """All maps of the sentence and of its twin, "run layer head query key"."""
    runs = (vz.capture(minilm, text) for text in (TEXT, TEXT.replace("tired", "wide")))
    return np.stack([[run.attention(at).numpy() for at in range(run.n_layers)] for run in runs])


def linked(opened, query=IT, key=ANIMAL):
    pair = f".viz-pair[data-painted$=':{query}:{key}']"  # which may be folded away
    opened.page.wait_for_selector(pair, state="attached", timeout=60_000)


def lines(page):
    """The list of heads: name, weight and the number beside it."""
    parts = page.eval_on_selector_all(
        ".viz-pair-line",
        "all => all.map((line) => [line.dataset.link, line.children[2].textContent, "
        "line.children[3].textContent])",
    )
    return [(name, float(weight), beside) for name, weight, beside in parts]


def test_the_page_opens_on_an_answer_that_is_in_sight(visit, maps):
    opened = visit(height=900, opening=True, folded=True)
    linked(opened)
    page = opened.page
    said = page.inner_text(".viz-finding")
    weight = maps[0, 5, 11, IT, ANIMAL]
    ratio = weight / maps[0, 5, 11, :, ANIMAL].mean()
    assert said.startswith("Head 5.11: it gives animal")
    assert f"{weight:.2f}" in said and f"{ratio:.1f} times the average" in said
    opened.map_painted("5.11")
    page.wait_for_selector(".viz-how[data-painted]")
    bottoms = {
        ".viz-answer": 220,
        ".viz-finding-chip >> nth=0": 250,
        ".viz-measures": 310,
        ".viz-share-grid": 490,
        ".viz-routes-drawing": 740,
        ".viz-finding": 840,
        ".viz-map-canvas": 910,
    }
    for part, least in bottoms.items():
        box = page.locator(part).first.bounding_box()
        assert box and box["y"] + box["height"] < least, (part, box)


def test_the_heads_of_a_pair_are_ranked_and_a_click_goes_there(shared, maps):
    opened = shared(layer=3, head=1, query=IT, key=ANIMAL)
    linked(opened)
    cell = maps[0, :, :, IT, ANIMAL]
    means = maps[0, :, :, :, ANIMAL].mean(axis=2)
    order = np.argsort(-cell, axis=None)[:7]
    found = lines(opened.page)
    assert [name for name, _, _ in found] == [f"{at // 12}.{at % 12}" for at in order]
    for (_, weight, beside), at in zip(found, order, strict=True):
        assert abs(weight - cell.flat[at]) < 0.006
        assert beside == f"{cell.flat[at] / means.flat[at]:.1f} ×"
    opened.page.click(f".viz-pair-line[data-link='{found[0][0]}']")
    opened.map_painted(found[0][0])
    assert opened.page.inner_text(".viz-finding").startswith(f"Head {found[0][0]}")


def test_a_swapped_word_says_what_changed(shared, maps):
    opened = shared(layer=3, head=1, query=IT, key=ANIMAL)
    opened.painted()
    linked(opened)
    page = opened.page
    before = page.evaluate("window.vizTab.run.key")
    page.click(".viz-swap")
    page.wait_for_function(f"window.vizTab.run.key !== '{before}'", timeout=60_000)
    until_said(page, ".viz-finding", "was")
    was, now = maps[:, 3, 1, IT, ANIMAL]
    said = page.inner_text(".viz-finding")
    assert f"{now:.2f} of its attention (was {was:.2f}, −{was - now:.2f})" in said
    change = maps[1, :, :, IT, ANIMAL] - maps[0, :, :, IT, ANIMAL]
    order = np.argsort(-np.abs(change), axis=None)[:7]
    assert [name for name, _, _ in lines(page)] == [f"{at // 12}.{at % 12}" for at in order]
    assert page.inner_text(".viz-pair h3") == "What changed for it → animal"
    assert page.get_by_role("button", name="Swap wide → tired").is_visible()


def test_every_example_is_of_words_that_its_model_knows(runner):
    for each in EXAMPLES:
        if each.text:
            assert "[UNK]" not in runner.text(each.model, each.text)["tokens"]


def test_nothing_said_of_the_run_before_is_left_beside_the_next(visit):
    page = visit(height=844, opening=True).painted()
    said = page.inner_text(".viz-finding")
    held = []
    page.route("**/map?**", lambda route: held.append(route))
    top = "document.querySelector('.viz-findings').clientHeight"
    before = page.evaluate(top)
    page.get_by_role("button", name=EXAMPLES[4].label).click()
    page.wait_for_function(f"vizTab.run?.model === '{EXAMPLES[4].model}'", timeout=60_000)
    assert "patches" in page.text_content(".viz-facts")  # which a phone does not show
    for part in (".viz-answer", ".viz-finding", ".viz-finding-chip >> nth=0", ".viz-swap"):
        assert not page.is_visible(part), part
    assert page.evaluate(top) == before
    page.evaluate("vizTab.selection.set({ query: 90 })")  # which the run before has not
    for route in held:
        route.continue_()
    page.unroute("**/map?**")
    page.wait_for_selector(".viz-finding-chip >> nth=0")
    page.wait_for_selector(".viz-finding >> visible=true")
    assert page.inner_text(".viz-finding") not in ("", said)


def test_on_a_phone_the_result_comes_before_the_form(visit):
    opened = visit(width=390, height=844)
    linked(opened, 0, 0)
    page = opened.page
    parts = [*("answer", "measures", "routes", "share-grid", "map", "words", "more")]
    top = {part: page.locator(f".viz-{part}").first.bounding_box()["y"] for part in parts}
    assert sorted(top, key=top.get) == list(top)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert top["routes"] < 900
    assert page.is_hidden("#viz-run") and TEXT in page.inner_text(".viz-to-form")
    page.click(".viz-to-form")
    page.wait_for_function(
        "document.querySelector('#viz-run').getBoundingClientRect().top < innerHeight / 2"
    )
    page.fill("#viz-text-a textarea", SENTENCES[1])
    page.click("#viz-run")
    page.wait_for_function(f"vizTab.run.link.a === '{SENTENCES[1]}'", timeout=60_000)
    page.wait_for_function(
        "document.querySelector('.viz-answer').getBoundingClientRect().top < innerHeight / 2"
    )
    assert page.is_hidden("#viz-run") and SENTENCES[1] in page.inner_text(".viz-to-form")


def test_by_keyboard_a_finding_is_a_few_presses_away(visit):
    opened = visit()
    linked(opened, 0, 0)
    page = opened.page
    page.wait_for_selector(".viz-skip", state="attached")  # the map may be there before it
    has_focus = "part => document.activeElement.matches(part)"
    page.keyboard.press("Tab")
    page.wait_for_function(has_focus, arg=".viz-skip")
    assert page.locator(".viz-skip").bounding_box()["x"] >= 0
    before = page.url
    page.keyboard.press("Enter")
    assert page.evaluate(has_focus, "[role=tabpanel]:has(.viz-findings)")
    presses = 0
    while not page.evaluate(has_focus, ".viz-finding-chip") and presses < 40:
        page.keyboard.press("Tab")
        presses += 1
    assert presses <= 8
    assert page.url == before
    assert page.locator(".viz-skip").bounding_box()["x"] < 0


@pytest.mark.slow
def test_what_is_on_its_way_is_said_to_load(profile, site):
    held, page = [], profile.new_page()
    page.route("**/viz/first", lambda route: held.append(route))
    with page.expect_request("**/viz/first"):
        page.goto(site)
    page.wait_for_function("document.querySelector('.viz-empty')?.textContent === 'Loading …'")
    page.wait_for_selector("#viz-run")
    assert page.inner_text(".viz-empty >> visible=true") == "Loading …"
    page.fill("#viz-text-a textarea", SENTENCES[1])
    page.click("#viz-run")
    page.wait_for_selector(".viz-how[data-painted]", timeout=60_000)
    with page.expect_response("**/viz/first") as answer:
        held[0].continue_()
    answer.value.finished()
    described(page)  # what came was read
    assert page.evaluate("vizTab.run.link.a") == SENTENCES[1]  # the form was quicker
    assert page.locator(".viz-empty >> visible=true").count() == 0
    page.close()


def test_where_nothing_can_be_opened_that_is_said_and_the_form_is_named(visit):
    page = visit(run="nowhere").page
    page.wait_for_selector("#viz-notice .viz-alert", timeout=60_000)
    assert "has expired" in page.inner_text("#viz-notice")
    page.wait_for_function(
        "document.querySelector('.viz-empty')?.textContent.startsWith('Type a text')"
    )
