"""The page in a real browser: what it shows equals what the package computes."""

import re

import pytest

import viz_encoder as vz
from tests.ui.texts import SENTENCES

SENTENCE = SENTENCES[0]


def value_in(sentence: str) -> float:
    """The weight that a sentence of the page ends with."""
    return float(re.search(r": ([\d.e-]+)$", sentence)[1])


def test_every_cell_says_its_names_and_its_exact_value(shared, trace):
    opened = shared(layer=2, head=7)
    expected = trace.attention(2, 7)
    for row, column in [(0, 0), (1, 4), (14, 0), (14, 14), (6, 9)]:
        said = opened.hover(row, column)
        assert f"“{trace.tokens[row]}”" in said and f"“{trace.tokens[column]}”" in said
        assert value_in(said) == pytest.approx(float(expected[row, column]), abs=5e-5)


def test_hiding_special_tokens_drops_rows_and_columns(shared, trace):
    opened = shared(layer=3, head=5, hide=1)
    opened.painted()
    shown = [i for i, special in enumerate(trace.sample.special) if not special]
    said = opened.hover(0, 3)
    assert f"query {shown[0]} " in said and f"key {shown[3]} " in said
    expected = float(trace.attention(3, 5)[shown[0], shown[3]])
    assert value_in(said) == pytest.approx(expected, abs=5e-5)
    assert "not renormalized" in opened.page.inner_text(".viz-map h3")


def test_two_texts_and_control_enter(shared, minilm):
    opened = shared()
    opened.painted()
    opened.page.get_by_label("Two texts").click()
    opened.page.fill("#viz-text-b textarea", "She was tired")
    opened.page.press("#viz-text-b textarea", "Control+Enter")
    opened.page.wait_for_url("**kind=pair**")
    opened.painted()
    pair = vz.capture(minilm, (SENTENCE, "She was tired"))
    assert opened.page.locator(".viz-word").count() == pair.n_tokens
    expected = float(pair.attention(0, 0)[3, 17])
    assert value_in(opened.hover(3, 17)) == pytest.approx(expected, abs=5e-5)


def test_a_saved_run_is_opened_by_upload(shared, minilm, tmp_path):
    saved = vz.capture(minilm, "Saved on another machine")
    saved.save(tmp_path / "run.safetensors")
    opened = shared()
    opened.painted()
    opened.open_saved(tmp_path / "run.safetensors")
    opened.page.wait_for_url("**a=Saved**")
    opened.painted()
    assert opened.page.locator(".viz-word").count() == saved.n_tokens
    layer, head = opened.page.evaluate("[vizTab.selection.layer, vizTab.selection.head]")
    expected = float(saved.attention(layer, head)[2, 3])
    assert value_in(opened.hover(2, 3)) == pytest.approx(expected, abs=5e-5)
    opened.page.wait_for_selector(".viz-cut[data-painted]", timeout=60_000)
    for part in ("[data-cut=remove]", "[data-measure=effect]"):  # its model is here
        assert opened.page.is_enabled(part)


ANY = (
    "<img src=x onerror=alert(1)> </script><script>alert(1)</script> {{7*7}} ${alert(1)} "
    "שלום עולם and مرحبا 👨‍👩‍👧 \u202eabc\u202c a [SEP] b [PAD] [CLS]"
)


def test_any_text_is_shown_as_text(visit):
    page = visit(kind="text", a=ANY).painted()
    assert page.locator(".viz-root img, .viz-root script").count() == 0
    assert page.locator(".viz-map-canvas").is_visible()


def test_a_fault_is_one_sentence_and_loses_nothing(shared):
    page = shared().painted()
    page.fill("#viz-text-a textarea", "   \n ")
    page.click("#viz-run")
    page.wait_for_selector("#viz-notice .viz-alert")
    assert "is empty" in page.inner_text("#viz-notice")
    assert page.locator(".viz-word").count() == 15
    page.fill("#viz-text-a textarea", SENTENCES[1])
    page.click("#viz-run")
    page.wait_for_url("**approved**")
    assert page.locator("#viz-notice .viz-alert").count() == 0


AS_FOLDED = """folded => { for (const sheet of document.styleSheets)
  if (sheet.ownerNode.textContent.startsWith('#viz-inputs #viz-')) sheet.disabled = folded; }"""


def test_share_copies_the_link_or_shows_it(shared):
    page = shared(layer=2, head=7).page
    page.evaluate(
        "() => (navigator.clipboard.writeText = async (text) => (window.copied = text)) && 0"
    )
    page.click("#viz-link")
    page.get_by_role("button", name="Link copied").wait_for()
    assert page.evaluate("window.copied") == page.url and "head=7" in page.url
    assert page.evaluate("document.querySelector('#viz-link').scrollWidth") <= 100
    page.evaluate(AS_FOLDED, True)
    page.wait_for_selector("#viz-tries", state="hidden")
    page.focus("#viz-text-a textarea")
    page.wait_for_selector("#viz-tries")
    page.click("#viz-tab-corpus-button", trial=True)  # the panel leaves the tabs free
    page.evaluate(AS_FOLDED, False)
    page.evaluate("() => (navigator.clipboard.writeText = () => Promise.reject()) && 0")
    page.click("#viz-link")
    link = page.get_by_label("Link to copy")
    assert link.input_value() == page.url
    assert link.evaluate("node => getSelection().toString()") == page.url
    page.keyboard.press("Tab")
    link.wait_for(state="detached")
    page.evaluate("() => delete navigator.clipboard.writeText")
