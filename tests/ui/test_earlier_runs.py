"""Earlier runs and saved ones in "against": the answer and the maps, in at most two clicks each."""

import pytest

import viz_encoder as vz

TEXT = "The animal didn't cross the street because it was too tired"
WIDE = TEXT.replace("tired", "wide")
CLICKS = "window.clicks = 0; addEventListener('click', () => window.clicks++, true);"
AGAINST = "#viz-explain-against"


def show_the_change(page):
    page.get_by_role("button", name="Attention where it looks").click()
    page.get_by_role("button", name="Show the change", exact=True).click()
    page.wait_for_selector(".viz-map[data-painted*=':change:']")


def test_an_earlier_run_is_asked_against_and_its_maps_are_compared(visit, minilm):
    page = visit(layer=3, head=1, query=10, key=2, measure="contribution").painted()
    before = page.evaluate("vizTab.run.key")
    page.locator(".viz-swap").click()
    page.wait_for_selector(f".viz-atlas[data-painted]:not([data-painted='{before}'])")
    assert page.input_value(AGAINST) == f"run:{before}"  # as a swap chooses it
    page.select_option(AGAINST, label="nothing")
    page.wait_for_selector(".viz-how[data-painted]:not([data-painted*=against])")
    page.evaluate("vizTab.selection.flush()")
    page.reload()  # after which earlier runs are offered, too
    page.wait_for_selector(".viz-how[data-painted]:not([data-painted*=against])")
    page.wait_for_selector(f"{AGAINST} optgroup option", state="attached")
    assert page.evaluate("vizTab.measures.reference") is None
    assert not page.get_by_role("button", name="Show the change", exact=True).is_visible()
    named = page.locator(f"{AGAINST} optgroup option")
    assert named.all_inner_texts() == ["“…street because it was too tired”"]  # where they differ
    page.evaluate(CLICKS)
    page.evaluate("delete document.querySelector('.viz-how').dataset.painted")
    held = []
    page.route("**/viz/open/link", lambda route: held.append(route))
    with page.expect_request("**/viz/open/link"):
        page.select_option(AGAINST, f"run:{before}")
    page.wait_for_selector(".viz-how[data-painted]:not([data-painted*=against])")  # without it
    held[0].continue_()
    page.wait_for_selector(".viz-how[data-painted*='against=run']")
    now, was = (vz.capture(minilm, text) for text in (WIDE, TEXT))
    found = vz.attribute(minilm, now, of="state", token=10, against=was)
    whole = vz.attribute(minilm, now, of="state", token=10).score
    assert f" differ by {found.score / whole:.0%} of this one’s" in page.inner_text(".viz-answer")
    show_the_change(page)
    assert page.evaluate("clicks") == 2  # and the choice in the list
    change = float((now.attention(3, 1) - was.attention(3, 1))[10, 2])
    assert page.evaluate("vizTab.map.parts.at(10, 2).value") == pytest.approx(change, abs=2e-6)


@pytest.mark.slow
def test_a_saved_run_is_compared(visit, minilm, tmp_path):
    was = vz.capture(minilm, WIDE)
    was.save(tmp_path / "run.safetensors")
    page = visit(layer=3, head=1, query=10, key=2).painted()
    page.select_option(AGAINST, label="a saved run …")
    page.set_input_files(".viz-saved-reference", tmp_path / "run.safetensors")
    page.wait_for_function("vizTab.reference.other")
    assert page.input_value(AGAINST).startswith("run:")
    page.wait_for_selector(".viz-reference-said >> text=1 of 15 tokens differs: “wide” → “tired”.")
    page.get_by_role("button", name="Show the change", exact=True).click()
    page.wait_for_selector(".viz-map[data-painted*=':change:']")
    now = vz.capture(minilm, TEXT)
    change = float((now.attention(3, 1) - was.attention(3, 1))[10, 2])
    assert page.evaluate("vizTab.map.parts.at(10, 2).value") == pytest.approx(change, abs=2e-6)
