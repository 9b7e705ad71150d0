"""Earlier runs and saved ones as the reference, chosen by hand, in at most two clicks each."""

import pytest

import viz_encoder as vz

TEXT = "The animal didn't cross the street because it was too tired"
CLICKS = "window.clicks = 0; addEventListener('click', () => window.clicks++, true);"


def test_an_earlier_run_that_begins_alike_is_compared(visit, minilm):
    opened = visit(layer=3, head=1, query=10, key=2)
    opened.painted()
    page = opened.page
    before = page.evaluate("vizTab.run.key")
    page.locator(".viz-swap").click()
    page.wait_for_selector(f".viz-atlas[data-painted]:not([data-painted='{before}'])")
    page.get_by_role("button", name="Clear reference").click()
    earlier = page.get_by_label("Compare with an earlier run")
    assert earlier.locator("option").nth(1).inner_text().endswith("too tired”")
    page.evaluate(CLICKS)
    earlier.select_option(before)
    page.get_by_role("button", name="Show the change", exact=True).click()
    page.wait_for_selector(f".viz-map[data-painted*=':change:{before}']")
    assert page.evaluate("clicks") == 1  # and the choice in the list
    now, was = (vz.capture(minilm, text) for text in (TEXT.replace("tired", "wide"), TEXT))
    change = float((now.attention(3, 1) - was.attention(3, 1))[10, 2])
    assert page.evaluate("vizTab.map.parts.at(10, 2).value") == pytest.approx(change, abs=2e-6)


@pytest.mark.slow
def test_a_saved_run_is_compared(visit, minilm, tmp_path):
    was = vz.capture(minilm, TEXT.replace("tired", "wide"))
    was.save(tmp_path / "run.safetensors")
    opened = visit(layer=3, head=1, query=10, key=2)
    opened.painted()
    page = opened.page
    page.evaluate(CLICKS)
    with page.expect_file_chooser() as chooser:
        page.get_by_text("Saved run …").click()
    chooser.value.set_files(tmp_path / "run.safetensors")
    page.get_by_role("button", name="Show the change", exact=True).click()
    page.wait_for_selector(".viz-map[data-painted*=':change:']")
    assert page.evaluate("clicks") <= 3  # the label's click is its input's too
    now = vz.capture(minilm, TEXT)
    change = float((now.attention(3, 1) - was.attention(3, 1))[10, 2])
    assert page.evaluate("vizTab.map.parts.at(10, 2).value") == pytest.approx(change, abs=2e-6)
