"""The What if tab: its numbers are those of vz.effect, vz.effects and vz.patch."""

import csv

import numpy as np
import pytest

import viz_encoder as vz
from tests.slow import slow, slow_but
from tests.ui.conftest import described
from tests.ui.texts import MASKED, PICTURES, SENTENCES
from viz_encoder import effects
from viz_encoder.analyses.survey import survey
from viz_encoder.bundled import asset
from viz_encoder.ui.state.built import Built, built_encoder
from viz_encoder.ui.tabs.whatif.references import GRAMMAR

TEXT = MASKED[0]
TWIN = TEXT.replace("keys", "key")
MEASURED = ".viz-whatif-tokens[data-painted]"
SAID = ".viz-whatif-words .viz-controls [role=status]"
HEADS = ".viz-whatif-heads > div:not([hidden]) > .viz-whatif-grid"
ACROSS = "attention weight [MASK] → keys"
WIDE, NARROW = (
    [(model, width) for model in ("grammar", "all-MiniLM-L6-v2")] for width in (1440, 390)
)
NAMED = "{0[1]}-{0[0]}".format
# The run without changes is entered once more, as the link has it; what was typed and chosen goes.
PUT_BACK = """(() => {
  const { heads, words, texts, tokens, offer, plain } = vizWhatif;
  const { selection } = m.current;
  const noted = ["measure", "how", "words", "heads", "twin"].map((name) => [`whatif.${name}`, ""]);
  vizWhatif.plain = null;
  selection.set({ layer: 0, head: 0, query: 0, key: 0 });
  selection.held = { query: 0, key: 0 };
  selection.note(Object.fromEntries(noted));
  heads.hows[0].click();
  heads.say("");
  heads.together.checked = false;
  Object.assign(words.action, { value: "t" }).dispatchEvent(new Event("change"));
  words.word.value = "";
  texts.typed.value = `${offer.text}\\n`;
  for (const { dataset } of [tokens.node, vizWhatif.against.scatter.node]) delete dataset.painted;
  const saved = document.querySelectorAll("#viz-whatif .viz-figure-take [role=status]");
  for (const said of saved) said.textContent = "";
  document.activeElement.blur();
  scrollTo(0, 0);
  m.current.enter(new plain.constructor({ ...plain }));
})()"""


@pytest.fixture(scope="module")
def found(grammar):
    return vz.effect(grammar, TEXT)


@pytest.fixture
def what_if(visit):
    """Open a page by its own link."""

    def enter(text=TEXT, model=MASKED[1], width=1440, ready=MEASURED, **query):
        return entered(visit, text, model, width, ready, **query).page

    return enter


@pytest.fixture(scope="module")
def entered_once(visit_once):
    opened = entered(visit_once)
    usual_painted(opened.page)
    return opened, as_opened(opened.page)


@pytest.fixture(scope="module")
def of(request, visit_once):
    """A page of that model and width; one at a time, as a browser keeps few connections open."""
    model, width = request.param
    if (model, width) == ("grammar", 1440):
        yield request.getfixturevalue("entered_once")[0]
        return
    text = TEXT if model == "grammar" else SENTENCES[0]
    opened = entered(visit_once, text, model, width)
    yield opened
    opened.page.close()


@pytest.fixture
def seen(of):
    """The same for tests that share it and change nothing there."""
    yield of.page
    assert of.faults == []


@pytest.fixture
def usual(entered_once):
    """The page that tests share which change what is put back here, to the last word."""
    opened, before = entered_once
    yield opened.page
    opened.page.unroute_all()
    opened.page.mouse.move(0, 0)
    opened.imported("core/app_state.js", PUT_BACK)
    usual_painted(opened.page)
    assert as_opened(opened.page) == before
    assert opened.faults == []


def entered(visit, text=TEXT, model=MASKED[1], width=1440, ready=MEASURED, **query):
    opened = visit(kind="text", a=text, model=model, tab="whatif", width=width, **query)
    opened.page.wait_for_selector(ready, timeout=60_000)
    return opened


def usual_painted(page):
    page.wait_for_selector(MEASURED, timeout=60_000)
    page.wait_for_selector("#viz-whatif-fewest", timeout=30_000)
    page.wait_for_selector(f".viz-whatif-scatter[data-painted='{ACROSS}']", timeout=30_000)
    answered(page, "h3.0")


def as_opened(page):
    """All words, choices and typed texts of the tab, and its link."""
    return page.evaluate(
        """() => {
          vizTab.selection.flush();
          const root = document.querySelector("#viz-whatif");
          const fields = [...root.querySelectorAll("input, select, textarea")];
          const pressed = [...root.querySelectorAll("[aria-pressed]")]
            .filter((one) => one.checkVisibility());
          return {
            words: root.innerText.split(/\\n/),
            fields: fields.map((one) => [one.id, one.value, one.checked, one.hidden]),
            pressed: pressed.map((one) => one.getAttribute("aria-pressed")),
            link: [...new URLSearchParams(location.search)].toSorted(),
          };
        }"""
    )


def cells(page, grid=HEADS):
    """The exact numbers of a grid, by layer and head."""
    rows = page.eval_on_selector_all(
        f"{grid} > .viz-whatif-layer",
        "rows => rows.map(row => [...row.querySelectorAll('button')].map(c => c.dataset.value))",
    )
    return np.array(rows, dtype=float)


def shares(page, when):
    """The bars of the answers before or after."""
    lines = page.eval_on_selector_all(
        f".viz-whatif-answers [data-when={when}] li",
        "all => all.map(li => [li.querySelector('bdi').innerText,"
        " Number(li.querySelector('em').dataset.share),"
        " li.querySelector('i').offsetWidth / li.querySelector('span').clientWidth])",
    )
    for _, share, width in lines:
        assert width == pytest.approx(share, abs=0.02)
    return {label: share for label, share, _ in lines}


def answered(page, codes):
    page.wait_for_selector(f".viz-whatif-answers[data-painted='{codes}']", timeout=30_000)


def changed(page, *codes):
    """Wait until all tabs show the run with these changes."""
    page.wait_for_function(
        "codes => JSON.stringify(vizWhatif.changes) === codes"
        " && !document.querySelector('.viz-whatif-changing')",
        arg="[" + ",".join(f'"{code}"' for code in codes) + "]",
        timeout=30_000,
    )


def test_the_page_begins_with_the_head_that_decides(usual, found):
    page = usual
    assert page.inner_text(".viz-whatif-finding") == found.sentence
    layer, head = found.ranked(1)[0]
    assert page.inner_text(".viz-whatif-finding b") == "“are” (0.995) to “is” (0.687)"
    chosen = page.locator(f"{HEADS} [aria-pressed=true]")
    assert chosen.get_attribute("data-head") == f"{layer}.{head}" == "3.0"
    assert page.inner_text(".viz-whatif-second").count("a large weight need not") == 1


def test_the_grid_is_the_effect_of_each_head(usual, found):
    page = usual
    np.testing.assert_allclose(cells(page), found.values[0], rtol=2e-5, atol=1e-5)
    printed = page.eval_on_selector_all(f"{HEADS} button", "all => all.map(c => c.innerText)")
    for text, value in zip(printed, found.values[0].flat, strict=True):
        name, number = text.split()
        layer, head = map(int, name.split("."))
        assert value == found.values[0][layer, head]
        assert float(number.replace("−", "-")) == pytest.approx(value, abs=0.05001)
    legend = page.inner_text(".viz-whatif-heads .viz-whatif-legend")
    assert "−6.2 weakens “are”" in legend and "+6.2 strengthens “are”" in legend
    assert f"change in {found.measures[0]}" in legend


def test_red_is_the_answer_weaker_and_blue_stronger(usual, found):
    page = usual
    color = "c => getComputedStyle(c).backgroundColor.match(/\\d+/g).map(Number)"
    for at in (found.values[0].argmin(), found.values[0].argmax()):
        layer, head = np.unravel_index(at, found.values[0].shape)
        red, _, blue = page.eval_on_selector(f"{HEADS} [data-head='{layer}.{head}']", color)
        assert (red > blue) == (found.values[0][layer, head] < 0)


def test_the_reference_mean_is_another_stand_in(usual, grammar, found):
    page = usual
    page.click("[data-how=mean]")
    page.wait_for_selector(".viz-whatif[data-painted$=':mean']", timeout=30_000)
    expected = vz.effect(grammar, TEXT, how="mean", reference=GRAMMAR)
    np.testing.assert_allclose(cells(page), expected.values[0], rtol=2e-5, atol=1e-5)
    assert page.inner_text(".viz-whatif-finding") == expected.sentence
    assert page.is_visible("text=Without head 3.0 (zeros instead)")
    page.click("[data-how=zero]")
    page.wait_for_selector(".viz-whatif[data-painted$=':zero']", timeout=30_000)
    np.testing.assert_allclose(cells(page), found.values[0], rtol=2e-5, atol=1e-5)


def test_another_measure_is_measured_anew(usual, grammar):
    page = usual
    page.select_option("#viz-whatif-measure", "pooled")
    page.wait_for_selector(".viz-whatif[data-painted*=':pooled:']", timeout=30_000)
    expected = vz.effect(grammar, TEXT, measure="pooled")
    np.testing.assert_allclose(cells(page), expected.values[0], rtol=2e-5, atol=2e-6)
    assert page.inner_text(".viz-whatif-finding") == expected.sentence


def test_bars_are_the_answers_with_and_without_the_head(usual, found):
    page = usual
    answered(page, "h3.0")
    before, after = shares(page, "before"), shares(page, "after")
    assert before["are"] == pytest.approx(found.untouched[0][1], abs=1e-5)
    assert after[found.answers[0, 3, 0]] == pytest.approx(found.shares[0, 3, 0], abs=1e-5)
    page.click(f"{HEADS} [data-head='1.2']")
    answered(page, "h1.2")
    after = shares(page, "after")
    assert after[found.answers[0, 1, 2]] == pytest.approx(found.shares[0, 1, 2], abs=1e-5)
    assert page.evaluate("[vizTab.selection.layer, vizTab.selection.head]") == [1, 2]


def test_heads_are_walked_and_chosen_by_keys(usual):
    page = usual
    page.focus(f"{HEADS} [data-head='3.0']")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    answered(page, "h2.1")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Control+Enter")
    answered(page, "h2.1,h2.0")
    assert page.evaluate("document.activeElement.dataset.head") == "2.0"


@pytest.mark.parametrize("way", ["together", "Control", slow("Shift")])
def test_several_heads_are_removed_together(usual, grammar, found, way):
    page = usual
    if way == "together":
        page.check("#viz-whatif-together")
        page.click(f"{HEADS} [data-head='1.0']")
    else:
        page.click(f"{HEADS} [data-head='1.0']", modifiers=[way])
    page.wait_for_selector(".viz-whatif-heads [data-painted='3.0,1.0']", timeout=30_000)
    said = page.inner_text(".viz-whatif-heads [data-painted='3.0,1.0']")
    value, answer = effects.joint(grammar, TEXT, [(3, 0), (1, 0)])
    total = found.values[0][3, 0] + found.values[0][1, 0]
    assert f"{value:+.3g}".replace("-", "−") in said and f"“{answer}”" in said
    assert f"{total:+.3g}".replace("-", "−") in said
    answered(page, "h3.0,h1.0")
    page.click("#viz-whatif-remove")
    changed(page, "h3.0", "h1.0")
    assert page.inner_text("#viz-whatif-remove") == "Restore heads 3.0 and 1.0"
    page.click("#viz-whatif-remove")
    changed(page)


def test_each_point_is_a_head_by_its_weight_and_its_effect(usual, grammar, found):
    page = usual
    trace = vz.capture(grammar, TEXT)
    query, key = trace.tokens.index("[MASK]"), trace.tokens.index("keys")
    page.wait_for_selector(".viz-whatif-scatter[data-painted='attention weight [MASK] → keys']")
    for name in ("3.0", "3.3", "2.0"):
        layer, head = map(int, name.split("."))
        dot = page.locator(f".viz-whatif-plot circle[data-head='{name}']")
        dot.scroll_into_view_if_needed()
        dot.hover()
        told = page.inner_text(".viz-whatif-scatter .viz-whatif-told")
        weight = float(trace.attention(layer, head)[query, key])
        effect = f"{found.values[0][layer, head]:+.3f}".replace("-", "−")
        assert told.startswith(f"Head {name}: effect {effect};") and told.endswith(f"{weight:.4f}")
    places = page.eval_on_selector_all(
        ".viz-whatif-plot circle[data-head]",
        "all => all.map(c => [c.dataset.head, Number(c.getAttribute('cx'))])",
    )
    along = {
        name: float(trace.attention(*map(int, name.split(".")))[query, key]) for name, _ in places
    }
    line = np.polyfit([along[name] for name, _ in places], [x for _, x in places], 1)
    np.testing.assert_allclose(
        [np.polyval(line, along[n]) for n, _ in places], [x for _, x in places], atol=0.01
    )
    assert len(places) == found.values[0].size and line[0] > 100


def test_across_stands_any_statistic_of_heads(usual, grammar, found):
    page = usual
    page.select_option("#viz-whatif-axis", "entropy")
    page.wait_for_selector(".viz-whatif-scatter[data-painted^='Entropy']", timeout=30_000)
    entropy = np.stack([layer.statistics["entropy"] for layer in survey(vz.capture(grammar, TEXT))])
    page.locator(".viz-whatif-plot circle[data-head='3.0']").scroll_into_view_if_needed()
    page.hover(".viz-whatif-plot circle[data-head='3.0']")
    told = page.inner_text(".viz-whatif-scatter .viz-whatif-told")
    assert float(told.rsplit(" ", 1)[1]) == pytest.approx(float(entropy[3, 0]), rel=1e-3)
    page.click(".viz-whatif-plot circle[data-head='0.2']")
    answered(page, "h0.2")


def test_the_link_across_is_cut_in_the_chosen_head(usual, grammar):
    page = usual
    assert page.inner_text("#viz-whatif-cut") == "Cut “[MASK]” → “keys” in 3.0"
    page.click("#viz-whatif-cut")
    changed(page, "l3.0:6-2")
    said = "“[MASK]” → “keys” cut in 3.0"
    assert said in page.inner_text(".viz-changes")
    run = page.evaluate("vizTab.run.key")
    shown = page.evaluate(
        """async run => [...new Float32Array(await (await fetch(
          `viz/run/${run}/map?layer=3&head=0&rows=0:9&keys=0:9`)).arrayBuffer())]""",
        run,
    )
    expected = effects.changed(grammar, TEXT, ["l3.0:6-2"]).attention(3, 0).numpy()
    weights = np.nan_to_num(np.reshape(shown[:81], (9, 9)))
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    assert weights[6, 2] == 0
    assert page.inner_text("#viz-whatif-cut") == "Restore “[MASK]” → “keys” in 3.0"
    page.select_option("#viz-whatif-axis", "entropy")
    assert page.is_disabled("#viz-whatif-cut")
    page.select_option("#viz-whatif-axis", "found")
    page.click("#viz-whatif-cut")
    changed(page)


def test_points_are_stepped_through_by_keys(usual):
    page = usual
    page.focus(".viz-whatif-plot")
    page.keyboard.press("ArrowRight")
    name = page.inner_text(".viz-whatif-scatter .viz-whatif-told").split(":")[0].split()[-1]
    page.keyboard.press("Enter")
    answered(page, f"h{name}")


@pytest.mark.parametrize("of", slow_but(WIDE[:1], [*WIDE, *NARROW]), indirect=True, ids=NAMED)
def test_names_of_points_never_overlap(seen):
    page = seen
    boxes = page.eval_on_selector_all(
        ".viz-whatif-name",
        "all => all.map(t => t.getBoundingClientRect())"
        ".map(r => [r.left, r.top, r.right, r.bottom])",
    )
    assert len(boxes) >= 3
    for at, one in enumerate(boxes):
        for other in boxes[at + 1 :]:
            across = min(one[2], other[2]) - max(one[0], other[0])
            down = min(one[3], other[3]) - max(one[1], other[1])
            assert across <= 0 or down <= 4  # a line's own margins may touch


def test_each_word_hidden_and_what_is_answered_then(usual, grammar):
    page = usual
    expected = effects.tokens(grammar, TEXT)
    rows = page.eval_on_selector_all(
        ".viz-whatif-table tbody tr", "all => all.map(r => [...r.cells].map(c => c.innerText))"
    )
    assert [row[0] for row in rows] == list(expected.tokens)
    titles = page.eval_on_selector_all(".viz-whatif-table thead th", "t => t.map(c => c.innerText)")
    assert titles == ["", *expected.labels, ""]
    for token, (_, *pair, flips) in enumerate(rows):
        if np.isnan(expected.values[token]):
            assert pair == ["–", "–"] and flips == ""
            continue
        for printed, share in zip(pair, expected.pair[token], strict=True):
            assert printed == (f"{share:.3f}" if share >= 0.0005 else "< 0.001")
        now = expected.answers[token]
        assert flips == ("" if now == "are" else f"flips to {now}")


def test_words_masked_in_place_of_hidden(usual, grammar):
    page = usual
    page.select_option("#viz-whatif-tokens-how", "mask")
    page.wait_for_selector(".viz-whatif-tokens[data-painted$=':mask']", timeout=30_000)
    expected = effects.tokens(grammar, TEXT, how="mask")
    cell = page.inner_text(".viz-whatif-table tr[data-token='2'] td >> nth=0")
    assert cell == f"{expected.pair[2][0]:.3f}"
    assert "shade: masking the word" in page.inner_text(".viz-whatif-shade")
    page.hover(".viz-whatif-words [data-token='2']")
    said = page.inner_text(SAID)
    size = float(said.rsplit(" ", 1)[1].replace("−", "-"))
    assert said.startswith("2 “keys”: masking it changes the measure by ")
    assert size == pytest.approx(expected.values[2], rel=0.01)
    assert page.inner_text(".viz-whatif-tokens h3") == "Each word replaced with [MASK]"
    page.select_option("#viz-whatif-tokens-how", "attention")
    page.wait_for_selector(".viz-whatif-tokens[data-painted$=':attention']", timeout=30_000)
    assert "shade: hiding the word" in page.inner_text(".viz-whatif-shade")


def test_the_fewest_words_that_flip_are_hidden_by_a_click(usual, grammar):
    page = usual
    page.wait_for_selector("#viz-whatif-fewest", timeout=30_000)
    expected = effects.flips(grammar, TEXT)
    said = page.inner_text(".viz-whatif-tokens [role=status]")
    assert f"{expected.tries} sets tried" in said and expected.answers[0][0] in said
    page.click("#viz-whatif-fewest")
    changed(page, *(f"t{token}" for token in expected.sets[0]))
    assert "Changed run" in page.inner_text(".viz-changed")


def test_a_click_on_a_word_changes_the_run_of_all_tabs_and_again_undoes_it(usual):
    page = usual
    plain = page.evaluate("vizTab.run.key")
    word = ".viz-whatif-words [data-token='2']"
    page.click(word)
    changed(page, "t2")
    assert page.evaluate("vizTab.run.changed.plain") == plain
    assert page.get_attribute(word, "aria-pressed") == "true"
    described(page)
    assert "Now hidden from all" in page.get_attribute(word, "aria-description")
    page.select_option("#viz-whatif-action", "m")
    page.focus(word)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    changed(page, "t2", "m3")
    page.click(".viz-whatif-words [data-token='3']")
    page.select_option("#viz-whatif-action", "t")
    page.click(word)
    changed(page)
    assert page.evaluate("vizTab.run.key") == plain


@pytest.mark.slow
def test_a_link_to_a_changed_run_opens_it_with_the_effects_on_the_plain_one(what_if, found):
    page = what_if(cut="h3.0,d7")
    changed(page, "h3.0", "d7")
    assert page.evaluate("vizTab.run.n") == page.evaluate("vizWhatif.plain.n") - 1
    np.testing.assert_allclose(cells(page), found.values[0], rtol=2e-5, atol=1e-5)
    assert page.inner_text("#viz-whatif-remove") == "Restore head 3.0"
    assert "run as it was" in page.inner_text(".viz-whatif-heads")
    page.click("#viz-whatif-remove")
    changed(page, "d7")


@pytest.mark.slow
def test_it_opens_on_the_heads_that_the_run_lacks(what_if, found):
    page = what_if(cut="h2.1,h0.3,t4")
    page.wait_for_selector(f"{HEADS} [aria-pressed=true]")
    chosen = page.locator(f"{HEADS} [aria-pressed=true]")
    assert [each.get_attribute("data-head") for each in chosen.all()] == ["0.3", "2.1"]
    assert page.inner_text("#viz-whatif-remove").startswith("Restore")
    assert "whatif.heads" not in page.evaluate("(vizTab.selection.flush(), location.search)")
    page.click(f"{HEADS} [data-head='3.0']")  # the strongest, of its own
    page.wait_for_function("(vizTab.selection.flush(), location.search).includes('whatif.heads')")


def test_a_word_is_replaced_or_deleted_and_the_old_words_stay_to_be_clicked(usual):
    page = usual
    page.select_option("#viz-whatif-action", "r")
    word = ".viz-whatif-words [data-token='2']"
    page.click(word)
    assert page.inner_text(SAID) == "Type the new word first."
    page.fill("#viz-whatif-word", "key")
    page.click(word)
    changed(page, "r2:key")
    assert page.evaluate("vizTab.run.tokens[2]") == "key"
    assert page.inner_text(word) == "keys"
    page.select_option("#viz-whatif-action", "d")
    page.click(".viz-whatif-words [data-token='7']")
    changed(page, "r2:key", "d7")
    assert "old" not in page.evaluate("vizTab.run.tokens")


def test_why_a_change_cannot_be_made_is_said(usual, entered_once):
    page = usual
    page.click(".viz-whatif-words [data-token='2']")
    changed(page, "t2")
    page.select_option("#viz-whatif-action", "d")
    with page.expect_response("**/whatif/changed") as answer:
        page.click(".viz-whatif-words [data-token='7']")
    told = answer.value.json()["message"]
    page.mouse.move(0, 0)
    page.wait_for_function(
        "([said, told]) => document.querySelector(said).innerText === told", arg=[SAID, told]
    )
    assert page.evaluate("vizWhatif.changes") == ["t2"]
    assert (
        entered_once[0].faults == []
    )  # the sentence is an answer, which no browser reports as an error


def test_patched_from_a_twin_both_ways(usual, grammar):
    page = usual
    page.click("[data-how=patch]")
    page.wait_for_selector(f".viz-whatif-twin[data-painted='{TWIN}']", timeout=30_000)
    for direction, at in (("noising", 0), ("denoising", 1)):
        expected = vz.patch(grammar, TEXT, TWIN, direction=direction)
        grid = f".viz-whatif-twin .viz-whatif-grid >> nth={at}"
        rows = page.locator(grid).evaluate(
            "g => [...g.children].map("
            "row => [...row.querySelectorAll('button')].map(c => c.dataset.value))"
        )
        np.testing.assert_allclose(np.array(rows, float), expected.shares[0], rtol=2e-5, atol=2e-5)
    page.fill("#viz-whatif-twin", "the key to the cabinet [MASK]")
    page.click("text=Patch every head")
    page.wait_for_function(
        "document.querySelector('.viz-whatif-twin [role=status]').innerText.includes('tokens')"
    )


def test_over_many_texts_the_mean_and_the_spread(usual, grammar):
    page = usual
    texts = [TEXT, TWIN, "the cat near the dogs [MASK] old"]
    assert page.is_disabled("#viz-whatif-over")
    page.fill("#viz-whatif-texts", "\n\n".join(texts))
    page.click("#viz-whatif-over")
    page.wait_for_selector(".viz-whatif-many [data-head='3.0']", timeout=30_000)
    expected = vz.effect(grammar, texts)
    grid = ".viz-whatif-many .viz-whatif-grid"
    np.testing.assert_allclose(cells(page, grid), expected.mean, rtol=2e-5, atol=1e-5)
    printed = page.inner_text(f"{grid} [data-head='3.0'] small")
    assert float(printed.removeprefix("± ")) == pytest.approx(expected.spread[3, 0], abs=0.05)
    assert f"mean of {len(texts)} texts" in page.inner_text(".viz-whatif-many .viz-whatif-legend")


def saved_table(page, group):
    """The lines of the CSV that a click saves."""
    with page.expect_download() as download:
        page.click(f"[aria-label='{group}'] >> text=CSV")
    with open(download.value.path(), newline="", encoding="utf-8") as file:
        return download.value.suggested_filename, list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("how", "measure", "unit"),
    [("zero", "masked", "logits"), ("mean", "pooled", "1 − cosine")],
)
def test_the_effects_are_saved_as_they_are_shown(usual, grammar, how, measure, unit):
    page = usual
    page.select_option("#viz-whatif-measure", measure)
    page.click(f"[data-how={how}]")
    page.wait_for_selector(f".viz-whatif[data-painted$=':{measure}:{how}']", timeout=30_000)
    name, lines = saved_table(page, "Save the effects")
    reference = GRAMMAR if how == "mean" else None
    expected = vz.effect(grammar, TEXT, how=how, reference=reference, measure=measure)
    assert name == "grammar-effects.csv"
    assert [(int(each["layer"]), int(each["head"])) for each in lines] == list(np.ndindex(4, 4))
    np.testing.assert_array_equal([float(each["effect"]) for each in lines], cells(page).flatten())
    server = page.evaluate("vizWhatif.effects.values.flat()")
    assert [float(each["effect"]) for each in lines] == server
    np.testing.assert_allclose(server, expected.values[0].flatten(), rtol=2e-5, atol=1e-5)
    assert {each["unit"] for each in lines} == {unit}
    assert {each["measure"] for each in lines} == {expected.measures[0]}
    assert {each["mode"] for each in lines} == {
        f"removed: {expected.how} in place of the head's output"
    }


def test_patched_effects_and_means_over_texts_are_saved_too(usual, grammar):
    page = usual
    page.click("[data-how=patch]")
    page.wait_for_selector(f".viz-whatif-twin[data-painted='{TWIN}']", timeout=30_000)
    _, lines = saved_table(page, "Save the effects")
    modes = ("noising: patched from the twin", "denoising: patched into the twin")
    for mode, direction in zip(modes, ("noising", "denoising"), strict=True):
        found = [float(each["effect"]) for each in lines if each["mode"] == mode]
        expected = vz.patch(grammar, TEXT, TWIN, direction=direction).shares[0].flatten()
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
    texts = [TEXT, TWIN, "the cat near the dogs [MASK] old"]
    page.fill("#viz-whatif-texts", "\n".join(texts))
    page.click("#viz-whatif-over")
    page.wait_for_selector(".viz-whatif-many [data-head='3.0']", timeout=30_000)
    _, lines = saved_table(page, "Save the mean effects")
    over = vz.effect(grammar, texts)
    for column, values in (("effect", over.mean), ("spread", over.spread)):
        found = [float(each[column]) for each in lines]
        np.testing.assert_allclose(found, values.flatten(), rtol=2e-5, atol=1e-5)
    assert {each["mode"] for each in lines} == {"removed (zero), mean of 3 texts"}


def test_a_fault_of_many_texts_names_its_line(usual):
    page = usual
    page.fill("#viz-whatif-texts", f"{TEXT}\n\n{TWIN}\nthe keys are old")
    page.click("#viz-whatif-over")
    page.wait_for_function(
        "document.querySelector('.viz-whatif-many .viz-work [role=status]').innerText"
        ".startsWith('Line 4, “the keys are old”: ')"
    )


@pytest.mark.slow
@pytest.mark.parametrize("of", WIDE[1:], indirect=True, ids=NAMED)
def test_without_an_answer_the_pooled_vector_is_measured(seen, minilm):
    page = seen
    expected = vz.effect(minilm, SENTENCES[0])
    np.testing.assert_allclose(cells(page), expected.values[0], rtol=2e-5, atol=2e-6)
    assert page.inner_text(".viz-whatif-finding") == expected.sentence
    hidden = effects.tokens(minilm, SENTENCES[0])
    printed = page.eval_on_selector_all(
        ".viz-whatif-table tbody tr", "all => all.map(r => r.cells[1].innerText)"
    )
    for text, value in zip(printed, hidden.values, strict=True):
        assert float(text.replace("−", "-")) == pytest.approx(value, abs=0.0051)
    layer, head = expected.ranked(1)[0]
    answered(page, f"h{layer}.{head}")
    table = page.inner_text(".viz-whatif-answers table")
    assert f"{1 - expected.values[0][layer, head]:.4f}" in table
    assert "weakens" not in page.inner_text(".viz-whatif")


@pytest.mark.slow
def test_a_long_text_is_measured_when_it_is_asked_for_and_given_up_at_once(what_if):
    text = " ".join(["The cat saw the old dog."] * 19)
    built = Built(d_model=48, n_heads=12, d_ff=48, T=160)  # small, as every token is hidden once
    page = what_if(text, built.name, ready="#viz-whatif-start:visible", build=built.code)
    n = page.evaluate("vizTab.run.n")
    assert page.inner_text("#viz-whatif-start") == f"Measure all heads ({n} tokens)"
    assert page.inner_text(f"{HEADS} [data-head='5.11']").split() == ["5.11", "…"]
    page.evaluate(
        """() => {
          document.querySelector("#viz-whatif-start").click();
          const bar = document.querySelector(".viz-whatif-wait progress");
          window.waited = !bar.hidden;
          document.querySelector(".viz-whatif-wait .viz-work button").click();
        }"""
    )
    assert page.evaluate("window.waited")
    page.wait_for_selector("#viz-whatif-start:visible")
    assert "Canceled" in page.inner_text(".viz-whatif-wait")
    assert page.is_hidden(".viz-whatif-wait progress >> nth=0")
    assert page.is_hidden(".viz-whatif-table")
    page.click(f"text=Hide each of {n} tokens")
    page.wait_for_selector(MEASURED, timeout=60_000)
    rows = page.locator(".viz-whatif-table tbody tr")
    assert rows.count() == 40 and page.is_visible(".viz-whatif-table")
    encoder = built_encoder(built, text, 10**7)
    values = np.abs(effects.tokens(encoder, text).values)
    shown = rows.evaluate_all("all => all.map(r => Number(r.dataset.token))")
    assert shown == sorted(shown) and values[shown].min() >= np.sort(values)[-40] - 1e-6


@pytest.mark.slow
def test_patches_of_a_picture_are_hidden(visit):
    page = visit(kind="image", example="a digit", model="scene", tab="whatif").page
    page.wait_for_selector(MEASURED, timeout=60_000)
    scene = vz.load("scene", device="cpu")
    picture = str(asset(PICTURES["a digit"]))
    expected = vz.effect(scene, picture)
    np.testing.assert_allclose(cells(page), expected.values[0], rtol=2e-5, atol=2e-5)
    hidden = effects.tokens(scene, picture).values
    shown = page.evaluate("vizWhatif.words.patches.values")
    np.testing.assert_allclose(shown, hidden, rtol=2e-5, atol=2e-5)
    assert "Each patch" in page.inner_text(".viz-whatif-tokens h3")
    assert page.is_disabled("[data-how=patch]") and page.is_hidden("#viz-whatif-texts")
    token = 1 + 3 * 10 + 2  # [CLS] comes first
    assert page.evaluate("vizWhatif.plain.grid") == {"rows": 10, "cols": 10, "prefix": 1}
    box = page.evaluate("vizWhatif.words.patches.patches.box(32)")
    page.mouse.click(*box)
    changed(page, f"t{token}")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    changed(page, f"t{token}", f"t{token + 1}")


@pytest.mark.parametrize("of", [NARROW[0], *map(slow, NARROW[1:])], indirect=True, ids=NAMED)
def test_on_a_phone_all_is_in_one_column_and_nothing_is_cut(seen):
    page = seen
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    lefts = page.eval_on_selector_all(
        ".viz-whatif-columns > *", "all => all.map(one => one.getBoundingClientRect().left)"
    )
    assert len(set(lefts)) == 1
    over = page.evaluate(
        """() => [...document.querySelectorAll(".viz-whatif *")]
          .filter((one) => one.clientWidth && one.getBoundingClientRect().right > innerWidth)
          .map((one) => one.className)"""
    )
    assert over == []


@pytest.mark.slow
def test_nothing_jumps_when_the_numbers_come(what_if):
    page = what_if(ready="#viz-whatif .viz-whatif:not([hidden])")
    tops = (
        "['.viz-whatif-columns', '.viz-whatif-plot'].map(s => document.querySelector(s)"
        ".getBoundingClientRect().top + scrollY)"
    )
    before = page.evaluate(tops)
    page.wait_for_selector(MEASURED, timeout=60_000)
    assert page.evaluate(tops) == pytest.approx(before, abs=24)


def test_what_is_hidden_is_not_seen(usual):
    page = usual
    seen = "all => all.filter(node => node.checkVisibility()).map(node => node.outerHTML)"
    assert page.eval_on_selector_all(".viz-root [hidden]", seen) == []


@pytest.mark.slow
def test_a_run_with_a_mask_leads_to_the_one_without(visit):
    opened = visit(kind="text", a=TEXT, model=MASKED[1], tab="whatif", ran="causal")
    page = opened.page
    page.wait_for_function("window.vizTab?.run?.masked")
    page.get_by_role("button", name="Open the run without its mask").click()
    page.wait_for_selector(MEASURED, timeout=60_000)
    assert page.evaluate("vizTab.run.masked") == "" and opened.faults == []


def test_what_is_measured_is_explained_and_a_head_s_fault_stands_at_its_button(usual):
    page = usual
    page.select_option("#viz-whatif-measure", "pooled")
    page.wait_for_selector("text=“Declared” is the pooling that the model's own files declare")
    page.wait_for_selector(".viz-whatif[data-painted*=':pooled:']", timeout=60_000)
    page.route(
        "**/whatif/changed",
        lambda route: route.fulfill(json={"message": "This run has expired on the server."}),
    )
    page.click("#viz-whatif-remove")
    page.wait_for_selector("text=This run has expired on the server.")
    gap = page.evaluate(
        """() => {
          const [button, told] = ["#viz-whatif-remove", "#viz-whatif-remove + [role=status]"].map(
            (at) => document.querySelector(at).getBoundingClientRect());
          return Math.abs(told.top - button.top);
        }"""
    )
    assert gap < 60 and "expired" in page.inner_text("#viz-whatif-remove + [role=status]")
