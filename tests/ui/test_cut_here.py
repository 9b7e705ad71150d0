"""What if, where one looks: a head removed, a pair cut, a token hidden or changed, by one click."""

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.ui.conftest import of_another_model
from tests.ui.texts import PICTURES, SENTENCES

TEXT, IT, ANIMAL = SENTENCES[0], 10, 2
SENTENCE, KEYS, MASK = "the keys to the cabinet [MASK] old", 2, 6
LINK = {"kind": "text", "model": "all-MiniLM-L6-v2", "a": TEXT}
CHANGED = ".viz-changed[data-painted]"


@pytest.fixture
def animal(shared):
    """The first screen at the head that looks hardest from "it" to "animal", or elsewhere."""
    usual = {"layer": 3, "head": 1, "query": IT, "key": ANIMAL}
    return lambda **place: shared(height=900, **usual | place)


@pytest.fixture
def sentence(shared):
    """The same of the sentence whose answer depends on one word."""
    place = {"layer": 3, "head": 0, "query": MASK, "key": KEYS}
    return ready(shared(model="grammar", kind="text", a=SENTENCE, **place))


def ready(opened):
    """Wait until the plain run is there, and it is known whether it can be run again."""
    opened.page.wait_for_function(
        "window.vizTab?.run &&"
        " document.querySelector('.viz-cut')?.dataset.painted === vizTab.run.key",
        timeout=60_000,
    )
    return opened.page


def changed(page, selector, wait=CHANGED):
    """Click, and wait for the run that it makes; returns what the finding says."""
    before = page.evaluate("vizTab.run.key")
    if page.is_hidden(selector):
        page.click(".viz-cut-open")
    page.click(selector)
    return arrived(page, before, wait)


def arrived(page, before, wait=CHANGED):
    page.wait_for_function(f"vizTab.run.key !== '{before}'", timeout=60_000)
    key = page.evaluate("vizTab.run.key")
    if wait:
        page.wait_for_selector(f".viz-changed[data-painted='{key}']", timeout=60_000)
    page.wait_for_selector(f".viz-atlas[data-painted='{key}']", timeout=60_000)
    page.wait_for_function("vizTab.pair.chosen || vizTab.selection.head.length")
    return page.inner_text(".viz-finding")


def shown(page, layer):
    """All maps of a layer as the page fetches them, "head query key"; NaN is masked."""
    heads = page.evaluate(
        """async (layer) => { const { run } = vizTab, all = [];
        for (let head = 0; head < run.nHeads; head++) {
          const view = { layer, head, hide: false, renorm: false, words: false };
          const { shape, values } = await run.map(view, [0, run.n], [0, run.n]);
          all.push([shape, Array.from(values, String)]);
        } return all; }""",
        layer,
    )
    return np.array([np.array(values, float).reshape(shape) for shape, values in heads])


def test_from_the_first_screen_a_head_is_removed_by_one_click(animal, minilm, plain):
    opened = animal()
    page = ready(opened)
    assert page.text_content("[data-cut=remove]") == "remove head 3.1"
    assert page.is_hidden(".viz-changed")
    said = changed(page, "[data-cut=remove]")
    with vz.ablate(minilm.model, {(3, 1): "zero"}):
        ablated = vz.capture(minilm, TEXT)
    for layer in (3, 4):  # from the next layer on, it is another run
        found = shown(page, layer)
        np.testing.assert_allclose(found, ablated.attention(layer).numpy(), atol=2e-6)
        same = np.abs(found - plain.attention(layer).numpy()).max() < 2e-6
        assert same == (layer == 3), layer
    was = plain.attention(3, 1)[IT, ANIMAL]
    assert f"{was:.2f} of its attention, as before; its output is now zero" in said
    assert page.get_attribute("[data-cut=remove]", "aria-pressed") == "true"
    at = 4, int((ablated.attention(4) - plain.attention(4))[:, IT, ANIMAL].abs().argmax())
    page.evaluate("([layer, head]) => vizTab.selection.set({ layer, head })", list(at))
    now, was = (float(run.attention(*at)[IT, ANIMAL]) for run in (ablated, plain))
    sign = "−" if now < was else "+"
    page.wait_for_function(
        "words => document.querySelector('.viz-finding').textContent.includes(words)",
        arg=f"{now:.2f} of its attention (was {was:.2f}, {sign}0",
    )
    page.fill("#viz-text-a textarea", "A cat saw the dog and it ran")  # is compared with nothing
    page.click("#viz-run")
    page.wait_for_function("vizTab.run.n === 10 && !vizTab.run.changed")
    assert page.evaluate("vizTab.measures.reference") is None
    page.wait_for_selector(".viz-finding >> visible=true")
    assert "no counterpart" not in page.inner_text("#viz-tab-explore")


def test_a_cut_pair_is_zero_and_its_row_is_renormalized(animal, minilm, plain):
    opened = animal(layer=3, head=1, query=IT, key=ANIMAL)
    page = ready(opened)
    assert page.text_content("[data-cut=cut]") == "cut it → animal in 3.1"
    said = changed(page, "[data-cut=cut]")
    n = plain.n_tokens
    mask = torch.ones(n, n, dtype=torch.bool)
    mask[IT, ANIMAL] = False
    cut = vz.capture(minilm, TEXT, mask={(3, 1): mask})
    whole, row = shown(page, 3), plain.attention(3, 1)[IT].numpy().copy()
    weight, row[ANIMAL] = row[ANIMAL], 0
    assert np.isnan(whole[1, IT, ANIMAL]) and np.isnan(whole).sum() == 1
    np.testing.assert_allclose(np.nan_to_num(whole[1, IT]), row / row.sum(), atol=2e-6)
    np.testing.assert_allclose(shown(page, 5), cut.attention(5).numpy(), atol=2e-6)
    assert said.startswith(f"Head 3.1: it may not look at animal (was {weight:.2f}).")
    page.wait_for_selector(".viz-pair li:first-child [data-link='3.1']")
    first = page.inner_text(".viz-pair li:first-child").split()
    assert first == ["3.1", "cut", "was", f"{weight:.2f}"]
    page.get_by_role("button", name="Show the change", exact=True).click()
    page.wait_for_selector(".viz-map[data-painted*=':3.1:']")
    moved = (cut.attention(4) - plain.attention(4)).abs().sum(-1).mean(-1) / 2
    page.select_option("#viz-statistic", "change")
    page.wait_for_function("vizTab.measures.changes.length === 6", timeout=60_000)
    assert page.evaluate("vizTab.measures.changes[4]") == pytest.approx(moved.tolist(), abs=2e-5)


def test_hidden_and_replaced_words_are_the_runs_of_python(sentence, grammar):
    page = sentence
    n = vz.capture(grammar, SENTENCE).n_tokens
    mask = torch.ones(n, n, dtype=torch.bool)
    mask[:, KEYS] = False
    changed(page, "[data-cut=hide]")
    expect(page, vz.capture(grammar, SENTENCE, mask=mask))
    changed(page, "[data-cut=hide]", wait="")  # taken back
    assert page.evaluate("vizTab.run.changed") is None
    before = page.evaluate("vizTab.run.key")
    replaced(page, "key")
    arrived(page, before)
    expect(page, vz.capture(grammar, "the key to the cabinet [MASK] old"))
    assert place(page) == [3, 0, MASK, KEYS]
    replaced(page, "zebra")
    page.wait_for_selector(".viz-changed-said >> text=1 of 7 tokens is [UNK]")


def replaced(page, word):
    page.click(".viz-cut-open")
    page.fill(".viz-cut-word", word)
    page.press(".viz-cut-word", "Enter")


def expect(page, trace):
    """The tokens, and the maps of the last layer, which follow from all that is before it."""
    assert page.evaluate("vizTab.run.tokens") == list(trace.tokens)
    last = trace.n_layers - 1
    found = np.nan_to_num(shown(page, last))
    np.testing.assert_allclose(found, trace.attention(last).numpy(), atol=2e-6)


def place(page):
    return page.evaluate(
        "(({ layer, head, query, key }) => [layer, head, query, key])(vizTab.selection)"
    )


def test_the_banner_says_what_and_proves_it(sentence, grammar):
    page = sentence
    changed(page, "[data-cut=remove]")
    assert page.locator(".viz-changed .viz-change").all_inner_texts() == ["head 3.0 removed ✕"]
    before, after = (answers(grammar, cuts) for cuts in ({}, {(3, 0): "zero"}))
    first, other = max(before, key=before.get), max(after, key=after.get)
    assert first != other
    said = page.inner_text(".viz-changed-said")
    assert said.startswith("The answer flips: ")
    assert page.get_attribute(".viz-changed-said", "title").startswith("Remove head 3.0 and the ")
    for name in (first, other):
        assert f"{name} {before[name]:.3f} → {after[name]:.3f}" in said
    assert page.get_attribute(".viz-changed-said", "role") == "status"
    assert page.text_content(".viz-changed-sentence").startswith(
        "✓ Proof: Equals the output with these heads' columns of W_O zeroed"
    )
    page.click(".viz-changed-sentence")
    parts = page.locator(".viz-changed-proof li").all_inner_texts()
    assert len(parts) >= 4 and any("W_O's columns" in part for part in parts)
    assert any(part.startswith("Head 3.0 was removed") for part in parts)
    notes = page.locator(".viz-notes li").all_inner_texts()
    assert not any("was removed" in note for note in notes)


def answers(grammar, cuts):
    """The shares of the likeliest words at [MASK], read off the run by the model's own head."""
    if not cuts:
        return dict(shares(grammar, vz.capture(grammar, SENTENCE)))
    with vz.ablate(grammar.model, cuts):
        return dict(shares(grammar, vz.capture(grammar, SENTENCE)))


def shares(grammar, trace):
    (guess,) = vz.analyses.predictions(grammar, trace)
    return zip(guess.labels, guess.shares.tolist(), strict=True)


def test_the_menu_of_the_word_is_reached_and_left_by_keys(animal):
    opened = animal(layer=3, head=1, query=IT, key=ANIMAL)
    page = ready(opened)
    page.focus("[data-cut=hide]")
    for key in ("Tab", "Enter", "Tab", "Tab"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.dataset.cut") == "delete"
    assert page.get_attribute(".viz-cut-word", "aria-label") == "Replace animal with"
    page.keyboard.press("Escape")
    assert page.is_hidden(".viz-cut .viz-popover")
    assert page.evaluate("document.activeElement.className.includes('viz-cut-open')")
    assert page.evaluate("vizTab.run.changed") is None


def test_a_fault_is_said_where_it_was_asked_for_and_nothing_changes(animal):
    opened = animal(layer=3, head=1, query=IT, key=ANIMAL)
    page = ready(opened)
    refused = {"status": 422, "json": {"message": "That cannot be done."}}
    page.route("**/whatif/changed*", lambda route: route.fulfill(**refused))
    key = page.evaluate("vizTab.run.key")
    page.click("[data-cut=remove]")
    page.wait_for_selector(".viz-cut-told >> text=That cannot be done.")
    assert page.evaluate("vizTab.run.key") == key and page.is_hidden(".viz-changed")
    page.unroute("**/whatif/changed*")
    changed(page, "[data-cut=remove]")
    assert page.inner_text(".viz-cut-told") == ""
    opened.faults[:] = [fault for fault in opened.faults if "422" not in fault]


@pytest.mark.slow
def test_what_cannot_be_changed_says_why(visit, animal, minilm, tmp_path):
    opened = visit(kind="image", example=next(iter(PICTURES)), layer=0, head=0, query=1, key=2)
    page = ready(opened)
    for name, off in (("remove", False), ("cut", False), ("hide", False), ("mask", True)):
        assert page.is_disabled(f"[data-cut={name}]") is off, name
    assert "Only the words of a text" in page.get_attribute("[data-cut=mask]", "title")
    opened = animal(layer=3, head=1, query=IT, key=0)
    page = ready(opened)
    assert page.is_disabled("[data-cut=mask]") and page.is_disabled(".viz-cut-open")
    assert "“[CLS]” is not a word" in page.get_attribute("[data-cut=mask]", "title")
    assert page.is_enabled("[data-cut=hide]")
    of_another_model(vz.capture(minilm, TEXT)).save(tmp_path / "run.safetensors")
    before = page.evaluate("vizTab.run.key")
    opened.open_saved(tmp_path / "run.safetensors")
    arrived(page, before, wait="")
    page.wait_for_selector(".viz-cut-told:not(:empty)")
    told = page.inner_text(".viz-cut-told")
    assert "model" in told
    for name in ("remove", "cut", "hide", "mask"):
        assert page.is_disabled(f"[data-cut={name}]")
        assert page.get_attribute(f"[data-cut={name}]", "title") == told


@pytest.mark.slow
def test_a_padded_run_loses_its_mask_and_keeps_the_changes_that_count_its_padding(visit):
    opened = visit(layer=3, head=1, ran="padding-left", pad="start:2", cut="t4,h3.1", **LINK)
    page = ready(opened)
    tokens = page.evaluate("vizTab.run.tokens")
    assert tokens[:2] == ["[PAD]"] * 2 and page.is_visible("#viz-masked-chip")
    page.click("#viz-masked-chip")
    page.wait_for_function("!vizTab.run.masked")
    made = page.evaluate("vizTab.run.changed?.changes.map(({ code }) => code)")
    assert (made, page.evaluate("vizTab.run.tokens")) == (["t4", "h3.1"], tokens)
