"""The Learn tab: one token's way through an encoder; its numbers are those of the run."""

import re

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.slow import slow
from tests.ui.conftest import described, of_another_model, open_tab, until_said
from tests.ui.texts import MASKED, PICTURES, SENTENCES
from viz_encoder.effects.word_order import word_order
from viz_encoder.lesson.result_code import Result, decode
from viz_encoder.lesson.seats import seat
from viz_encoder.ui.state.examples import as_linked

TEXT = "the keys to the cabinet [MASK] old"
LAYER, HEAD, QUERY, KEY = 2, 0, 6, 2
STEPS = 12
HERE = ".viz-learn-here"  # what changes in the browser alone
ROWS = ".viz-learn-scores tbody tr"
BOX = "#viz-text-a textarea, #viz-text-a input"
# All answers of the step, as "Show the answer" gives them.
SHOW = """() => {
  const { question } = vizLearn;
  for (const { step, level } of question.exercises) question.answered[`${step}.${level}`] = "shown";
  question.changed();
}"""
COVERED = "all => all.map(each => getComputedStyle(each).visibility === 'hidden')"


@pytest.fixture(scope="module")
def ran(grammar):
    return vz.capture(grammar, TEXT)


@pytest.fixture(scope="module")
def row(ran):
    """The chosen row by hand, in float64: q·k, scores, weights."""
    layer = ran.layers[LAYER]
    q = layer.q[HEAD, QUERY].double().numpy()
    k = layer.k[HEAD].double().numpy()
    dots = k @ q
    scores = dots / np.sqrt(len(q))
    exps = np.exp(scores - scores.max())
    return {"dots": dots, "scores": scores, "exps": exps, "weights": exps / exps.sum()}


@pytest.fixture
def learn(tab_anew):
    def enter(step=4, **query):
        return entered(tab_anew, step, **query).page

    return enter


@pytest.fixture
def usual(learn):
    """Step 4 of the lesson's sentence, once all of it is there."""
    page = learn()
    page.wait_for_selector(".viz-learn-question input")
    page.evaluate("vizLearn.switches.fold.open = true")
    page.wait_for_selector(".viz-learn-removed tbody tr:nth-child(2)")
    return page


@pytest.fixture
def step(usual):
    """The same page at another step."""

    def go(number):
        usual.evaluate("step => vizLearn.go(step)", number)
        shown(usual, number)
        return usual

    return go


def entered(visit, step=4, text=TEXT, model="grammar", width=1440, **query):
    place = {"layer": LAYER, "head": HEAD, "query": QUERY, "key": KEY} | query
    opened = visit(
        **{"kind": "text", "a": text, "model": model, "tab": "learn", "learn.step": step},
        **({"width": width} | place),
    )
    shown(opened.page, step)
    return opened


def shown(page, step):
    page.wait_for_selector(f".viz-learn[data-painted$=':{step}']", timeout=60_000)


def number(text):
    return float(text.replace("\u2212", "-").replace("+", ""))


def column(page, at):
    """A column of the table of scores, as it is printed."""
    cells = page.eval_on_selector_all(
        ROWS, f"rows => rows.map(row => row.children[{at}].textContent)"
    )
    return np.array([number(re.search(r"[-+\u2212]?[\d.]+", cell)[0]) for cell in cells])


def weights(page):
    return np.array(
        page.eval_on_selector_all(
            f"{ROWS} [data-weight]", "all => all.map(each => Number(each.dataset.weight))"
        )
    )


def test_the_row_is_worked_out_as_it_ran(usual, row, ran):
    page = usual
    np.testing.assert_allclose(column(page, 1), row["dots"], atol=0.0051)
    np.testing.assert_allclose(column(page, 2), row["scores"], atol=0.0051)
    np.testing.assert_allclose(column(page, 4), row["exps"], atol=0.000051)
    np.testing.assert_allclose(weights(page), row["weights"], atol=2e-6)
    kept = ran.attention(LAYER, HEAD)[QUERY].numpy()
    np.testing.assert_allclose(weights(page), kept, atol=2e-6)
    printed = column(page, 5)
    np.testing.assert_allclose(printed, row["weights"], atol=0.00051)
    assert f"({column(page, 4).sum():.4f} × e^" in page.text_content(".viz-learn-main h4 >> nth=1")
    headline = page.inner_text(".viz-learn-headline")
    assert all(each in headline for each in ("[MASK]", "keys", "2.0"))
    equation = page.text_content(".viz-learn-equation >> nth=0")
    assert f"= {row['dots'][KEY]:.2f}" in equation
    assert equation.endswith(f"{row['scores'][KEY]:.2f}")
    spread = f"a standard deviation of {row['dots'].std():.2f} before and "
    assert f"{spread}{row['dots'].std() / 4:.2f} after it" in page.inner_text(".viz-learn-main")
    page.uncheck(f"{HERE} input")  # ÷ √16
    exps = np.exp(row["dots"] - row["dots"].max())
    page.wait_for_function("document.querySelector('.viz-learn-touched:not([hidden])')")
    np.testing.assert_allclose(weights(page), exps / exps.sum(), atol=2e-6)
    page.evaluate("vizTab.selection.flush()")
    assert "learn.divide=0" in page.url


def test_a_forbidden_key_gives_its_weight_to_the_others(usual, row):
    page = usual
    page.uncheck(f"{ROWS}[data-key='{KEY}'] input")
    page.wait_for_selector(".viz-learn-touched:not([hidden])")
    left = np.delete(row["exps"], KEY)
    expected = np.insert(left / left.sum(), KEY, 0)
    np.testing.assert_allclose(weights(page), expected, atol=2e-6)
    loudest = page.inner_text(".viz-learn-headline")  # of those that are left
    assert "to [CLS]" in loudest
    score = page.locator(f"{ROWS}[data-key='{KEY}'] td:nth-of-type(2)")
    assert score.inner_text() == "−∞" and "e^−∞ = 0" in page.inner_text(".viz-learn-main")
    page.click(".viz-learn-touched button")
    page.wait_for_selector(".viz-learn-touched", state="hidden")
    np.testing.assert_allclose(weights(page), row["weights"], atol=2e-6)
    assert score.inner_text() != "−∞" and "e^−∞" not in page.inner_text(".viz-learn-main")
    for box in page.locator(f"{ROWS} input").all():
        box.uncheck()
    assert (weights(page) == 0).all()
    assert "Infinity" not in page.inner_text(".viz-learn-main")
    assert "may not attend to any token" in page.inner_text(".viz-learn-headline")
    biased = """() => {
      const { shown, steps } = vizLearn, { attention } = shown.numbers, { table } = steps.get(4);
      table.show(shown, { ...attention, bias: attention.dots.map((_, key) => key) }, true);
      return table.touched;
    }"""
    assert page.evaluate(biased) is False  # the model's own bias is no change of a person's


def test_a_score_is_changed_by_arrow_keys_and_by_dragging(usual, row):
    page = usual
    slider = page.locator(f"{ROWS}[data-key='0'] [role=slider]")
    slider.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    scores = row["scores"].copy()
    scores[0] += 1
    exps = np.exp(scores - scores.max())
    np.testing.assert_allclose(weights(page), exps / exps.sum(), atol=2e-6)
    box = slider.bounding_box()
    page.mouse.move(box["x"] + 10, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 110, box["y"] + 5)
    page.mouse.up()
    scores[0] += 3  # 0.03 a pixel
    exps = np.exp(scores - scores.max())
    np.testing.assert_allclose(weights(page), exps / exps.sum(), atol=2e-6)
    assert page.evaluate("vizLearn.step") == 4  # the arrows did not go to another head
    assert "head=0" in page.url


@pytest.mark.parametrize(
    ("model", "kind", "text", "width"),
    [
        slow("minilm", "text", SENTENCES[0], 1440),
        slow("minilm", "text", SENTENCES[0], 390),
        slow("grammar", "text", MASKED[0], 1440),
        slow("grammar", "text", MASKED[0], 390),
        slow("scene", "image", None, 1440),
        ("scene", "image", None, 390),
    ],
)
def test_every_step_of_every_model_shows_numbers_or_says_why_not_as_keys_go_through_them(
    tab_anew, model, kind, text, width
):
    source = {"a": text} if text else {"example": next(iter(PICTURES))}
    asked = {"kind": kind, "tab": "learn", "learn.step": 1, "layer": 1, "head": 1, "query": 2}
    if model != "minilm":
        asked["model"] = model
    opened = tab_anew(width=width, **asked, **source)
    page = opened.page
    shown(page, 1)
    for step in range(1, STEPS + 1):
        if step > 1:
            page.keyboard.press("Space")
        shown(page, step)
        text = page.inner_text(".viz-learn-main")
        assert len(text.split()) > 5, step
        assert "NaN" not in text
        assert "undefined" not in text
        if step == 4:  # from the product to the weight
            cells = "rows => rows.flatMap(row => [...row.cells].map(cell => cell.offsetWidth))"
            assert all(page.eval_on_selector_all(ROWS, cells))
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"step {step} scrolls sideways"
        high = page.evaluate("document.querySelector('.viz-learn').offsetHeight")
        most = {"scene": 974, "grammar": 1_026}.get(model, 2_000)  # with the form over it, 1,200
        assert width < 1_440 or high <= most, f"step {step} is {high} pixels high"
    page.keyboard.press("Space")  # the last step stays
    assert page.evaluate("vizLearn.step") == STEPS
    for at, key in ((1, "PageUp"), (2, "Shift+Space")):
        page.keyboard.press(key)
        shown(page, STEPS - at)
    page.keyboard.press("ArrowDown")
    page.wait_for_function("vizLearn.shown.place.head === 2")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("vizLearn.shown.place.layer === 2")
    assert not opened.faults


ENGLISH = (
    r"\b(of|and|with|without|length|head|weight|answer|hidden|share|effect|blocks|norm|keys move"
    r"|choose|click|screen|picture|key f)\b"
)
GERMAN = (
    r"\b(von|und|mit|ohne|Länge|Kopf|Gewicht|Antwort|Anteil|Wirkung|Blöcken|Norm|Köpfe|aus"
    r"|Bildschirm|gehen)\b"
)
# What is read, and what a screen reader or a pointer finds.
SAID = """() => {
  const root = document.querySelector(".viz-learn");
  const names = ["aria-label", "aria-roledescription", "title", "alt", "placeholder"];
  const every = [...root.querySelectorAll("*")];
  const labels = every.flatMap((each) => names.map((name) => each.getAttribute(name)));
  return [root.innerText, ...labels].join(" | ");
}"""


@pytest.mark.parametrize("steps", [(1, 4, 9, 12), slow((2, 5, 6, 7, 8, 10, 11))])
def test_a_switch_of_the_language_leaves_no_word_of_the_other(step, steps):
    for number in steps:
        page = step(number)
        page.wait_for_function("vizLearn.question.exercises[0]?.step === vizLearn.step")
        page.evaluate(SHOW)
        page.wait_for_load_state("networkidle")
        for language, other in (("de", ENGLISH), ("en", GERMAN)):
            page.select_option(".viz-learn-tools select", language)
            page.wait_for_function(
                """([code, step]) => vizLearn.shown.texts === vizLearn.texts &&
                  vizLearn.body.lang === code && vizLearn.question.exercises[0]?.step === step""",
                arg=[language, number],
            )
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(0)
            said = page.evaluate(SAID)
            assert re.findall(other, said) == [], (number, language)


def test_what_is_asked_is_covered_until_it_is_answered_or_shown(usual):
    page = usual
    page.wait_for_function("vizLearn.question.exercises.length === 4")
    asked = f"{ROWS}[data-key='{KEY}'] [data-asks='weight-of-key']"
    another = f"{ROWS}[data-key='1'] [data-weight]"
    acts = ".viz-learn-removed [data-asks='head-that-acts']"
    assert all(page.eval_on_selector_all(f"{asked}, {acts}", COVERED))
    assert page.eval_on_selector_all(another, COVERED) == [False]
    assert "0.842" not in page.inner_text(".viz-learn-main")
    page.click(".viz-learn-question button:has-text('Next question')")
    assert page.evaluate("document.activeElement.matches('.viz-learn-field > :first-child')")
    page.fill(".viz-learn-question input", "0.84")
    page.click(".viz-learn-check")
    assert not any(page.eval_on_selector_all(asked, COVERED))
    assert all(page.eval_on_selector_all(acts, COVERED))
    for _ in range(2):
        page.click(".viz-learn-question button:has-text('Next question')")
    page.click(".viz-learn-question button:has-text('Show the answer')")
    assert "Head 2.0 gives “keys” 0.842, and without it the model says “are” (0.996)" in (
        page.inner_text(".viz-learn-removed")
    )
    assert "3.0, the answer is another: “is” (0.687)" in page.inner_text(".viz-learn-removed")
    assert "1 of 2 answers right" in page.inner_text(".viz-learn-question")


def test_the_number_that_is_asked_for_is_printed_and_covered(step):
    page = step(7)
    page.wait_for_function("vizLearn.question.exercises[0]?.step === 7")
    for _ in range(2):
        page.click(".viz-learn-question button:has-text('Next question')")
    unit = page.evaluate("vizLearn.question.now.cell")
    here = ".viz-learn-vectors >> nth=0 >> [data-here]"
    assert page.locator(here).all_inner_texts()[0] == str(unit)
    assert f"Unit {unit} gets" in page.inner_text(".viz-learn-question")
    assert (
        page.eval_on_selector_all(".viz-learn-main [data-asks='activation']", COVERED).count(True)
        == 1
    )


@pytest.mark.slow
def test_a_picture_is_cut_into_its_grid_and_its_prefix_is_no_patch(tab_anew):
    place = {"layer": 1, "head": 1, "query": 0}
    opened = tab_anew(
        kind="image", example=next(iter(PICTURES)), model="scene", tab="learn", **place
    )
    page = opened.page
    shown(page, 1)
    page.wait_for_selector(".viz-learn-patches canvas")
    assert "[CLS] stands before the patches" in page.inner_text(".viz-learn-patches")
    page.evaluate("vizTab.selection.set({ query: 15 })")
    page.wait_for_function("vizLearn.shown.place.query === 15")
    page.get_by_text("Token 15: the patch in row 1, column 4").wait_for()
    page.evaluate("vizLearn.go(2)")
    shown(page, 2)
    assert page.locator(".viz-learn-vector [role=rowheader]").first.inner_text() == "patch vector"
    page.evaluate("vizTab.selection.set({ query: 0 })")
    page.get_by_text("learned [CLS]").wait_for()
    page.evaluate("vizLearn.go(11)")
    shown(page, 11)
    assert "[PAD]" not in page.inner_text(".viz-learn-main")
    assert not opened.faults


def test_the_table_of_effects_keeps_the_order_of_the_text_until_it_is_answered(usual, step):
    held, names = [], ".viz-learn-effects th[scope=row]"
    usual.route("**/whatif/tokens?**", lambda route: held.append(route))
    with usual.expect_request("**/whatif/tokens?**"):
        page = step(9)
    box = page.locator(".viz-learn-switches label", has_text="hide “keys”").locator("input")
    with page.expect_request("**/whatif/tokens?**"):  # measured anew; the first is stopped
        box.evaluate("box => box.click()")
    assert page.is_visible(".viz-learn-knockout progress")
    held[1].continue_()
    page.unroute("**/whatif/tokens?**")
    # It is how the answer is found out, so it stays asked.
    page.wait_for_function("vizLearn.shown.run.changed && vizLearn.question.exercises.length === 3")
    page.wait_for_selector(names)
    assert page.locator(names).all_inner_texts()[1:3] == ["the", "keys"]
    box.evaluate("box => box.click()")
    page.wait_for_function("vizLearn.question.exercises.length === 5")
    page.wait_for_selector(names)
    assert page.locator(names).all_inner_texts()[1:3] == ["the", "keys"]
    assert page.is_hidden(".viz-learn-knockout progress")
    page.evaluate(SHOW)
    assert set(page.locator(names).all_inner_texts()[:2]) == {"keys", "to"}
    headline = page.inner_text(".viz-learn-headline")
    assert "keys" in headline and "cabinet" not in headline
    split = vz.attribute(vz.load("grammar", device="cpu"), TEXT, token=QUERY, against="is")
    page.wait_for_selector(".viz-learn-carried td[data-share]")
    shares = page.eval_on_selector_all(
        ".viz-learn-carried td:nth-child(2)[data-share]",
        "all => all.map(each => Number(each.dataset.share))",
    )
    np.testing.assert_allclose(shares, [*split.tokens, split.biases], atol=1e-4)


def test_switches_run_the_real_weights_again(usual, grammar):
    page = usual
    for label, code in (("mask: causal", "c"), ("hide “keys”", f"t{KEY}")):
        box = page.locator(".viz-learn-switches label", has_text=label).locator("input")
        box.check()
        made = "code => vizLearn.shown.run.changed?.changes[0].code === code"
        page.wait_for_function(made, arg=code)
        shown(page, 4)
        ran = vz.effects.changed(grammar, TEXT, [code])
        expected = ran.attention(LAYER, HEAD)[QUERY].numpy()
        np.testing.assert_allclose(weights(page), expected, atol=2e-6, err_msg=label)
        gone = slice(QUERY + 1, None) if code == "c" else KEY
        assert (weights(page)[gone] == 0).all() and box.is_checked(), label
        box.uncheck()
        page.wait_for_function("!vizLearn.shown.run.changed")


def test_a_question_is_answered_and_a_known_mistake_is_named(usual, row):
    page = usual
    page.wait_for_selector(".viz-learn-question input")
    exercise = page.evaluate("vizLearn.question.exercises[0]")
    said = ".viz-learn-said"
    page.click(".viz-learn-question button:has-text('Hint')")
    assert page.inner_text(said) == exercise["hint"]
    assert "right" not in page.inner_text(".viz-learn-question .viz-caption")  # it judges nothing
    again = """seat => {
      const { question } = vizLearn;
      question.show(structuredClone(question.exercises), question.texts, seat);
    }"""
    page.fill(".viz-learn-question input", "0.4")
    for other, kept in ((0, "0.4"), (17, ""), (0, "")):  # each seat has questions of its own
        page.evaluate(again, other)
        assert page.input_value(".viz-learn-question input") == kept
    page.fill(".viz-learn-question input", "nothing")
    page.press(".viz-learn-question input", "Enter")
    assert "Type a number" in page.inner_text(said)
    mistake = exercise["mistakes"][0]
    page.fill(".viz-learn-question input", str(mistake["value"]))
    page.click(".viz-learn-check")
    assert page.inner_text(said) == mistake["says"]
    page.fill(".viz-learn-question input", f"{exercise['answer']:.{exercise['decimals']}f}")
    page.click(".viz-learn-check")
    assert page.inner_text(said) == "Right. " + exercise["right"]
    told = page.inner_text(".viz-learn-question")
    assert "1 of 1 answers right" in told
    for other, kept in ((17, False), (0, True)):  # each seat has answers of its own
        page.evaluate("seat => vizLearn.question.show([], vizLearn.texts, seat)", other)
        assert ("1 of 1 answers right" in page.inner_text(".viz-learn-question")) is kept
    code = re.search(r"hand in: ([-0-9A-Z]+)", told)[1]
    assert decode(code) == Result(0, frozenset({(exercise["step"], exercise["level"])}))


def test_a_link_to_a_step_and_a_seat_opens_its_own_sentence_in_its_language(visit, grammar):
    page = visit(opening=True, learn=5, seed=17).page
    shown(page, 5)
    own = seat(17)
    assert page.evaluate("vizTab.run.link.a") == own.text
    assert page.evaluate("vizTab.run.model") == "grammar"
    assert page.input_value(BOX) == own.text
    page.wait_for_function("key => vizLearn.shown.place.key === key", arg=own.source + 1)
    place = page.evaluate("vizLearn.shown.place")
    assert {name: place[name] for name in own.place} == own.place
    row = vz.capture(grammar, own.text).attention(*own.head)[own.masked + 1]
    assert place["key"] == int(row.argmax())
    page.wait_for_selector(".viz-learn-question input, .viz-learn-question button")
    assert page.evaluate("vizLearn.question.seat") == 17
    page.select_option(".viz-learn-tools select", "de")
    until_said(page, ".viz-learn-headline", "Kopf")
    page.evaluate("vizTab.selection.flush()")
    assert "learn.lang=de" in page.url
    page.reload()
    shown(page, 5)
    page.wait_for_function("vizLearn.question.seat === 17")
    assert page.evaluate("vizTab.run.link.a") == own.text
    assert "Kopf" in page.inner_text(".viz-learn-headline")
    assert page.get_attribute(".viz-learn-steps", "aria-label") == "Schritte der Lektion"
    block = page.get_attribute(".viz-learn-block svg", "aria-label")
    assert block.startswith("Teile eines Blocks (Pre-Norm): x, Norm, q, k, v")


def test_a_seat_that_is_not_there_has_the_lesson_s_sentence():
    for number in ("0", "241", "-3", "x", "017"):
        assert as_linked({"learn": "4", "seed": number})["a"] == TEXT
    assert as_linked({"kind": "text", "a": "mine", "learn": "4"})["a"] == "mine"


def test_a_window_is_run_and_its_answer_is_said(step, grammar):
    page = step(10)
    page.select_option("#viz-learn-mask", "window")
    page.locator(".viz-learn input[type=range]").fill("2")
    near = np.arange(9)
    allowed = torch.tensor(abs(near[:, None] - near) <= 2)
    ran = vz.capture(grammar, TEXT, mask=allowed)
    guess = vz.analyses.predictions(grammar, ran)[0]
    assert guess.labels[0] == "is"
    until_said(page, ".viz-learn-headline", f"“is” ({guess.shares[0]:.3f})")
    page.select_option(".viz-learn-tools select", "de")  # which says the same of the same mask
    until_said(page, ".viz-learn-headline", f"„is“ ({guess.shares[0]:.3f})".replace(".", ","))
    page.select_option(".viz-learn-tools select", "en")


@pytest.mark.slow
def test_the_link_opens_the_same_where_the_tab_is_there_after_the_run(profile, site):
    held, page = [], profile.new_page()
    page.route("**/learn.js", lambda route: held.append(route))
    with page.expect_request("**/learn.js"):
        page.goto(f"{site}?learn=5&seed=17")
    page.wait_for_function("new URLSearchParams(location.search).has('a')", timeout=60_000)
    held[0].continue_()
    shown(page, 5)
    page.wait_for_function("key => vizLearn.shown.place.key === key", arg=seat(17).source + 1)
    page.unroute_all()
    seats = []
    page.route("**/learn/seat?**", lambda route: seats.append(route))
    page.goto(f"{site}?learn=5&seed=17")
    shown(page, 5)
    page.evaluate("vizTab.selection.set({ query: 1 })")
    with page.expect_response("**/learn/seat?**") as answer:
        seats[0].continue_()
    answer.value.finished()
    described(page)
    assert page.evaluate("vizTab.selection.query") == 1  # a person was quicker
    page.close()


@pytest.mark.parametrize(("at", "part"), [slow(0, ""), slow(1, "quiz")])
def test_the_step_of_masks_leads_to_the_masks_tab(step, at, part):
    page = step(10)
    press = page.locator(".viz-learn-main .viz-controls >> nth=-1").locator("button").nth(at).click
    held = []
    if not part:  # who left the step meanwhile is not led away
        page.route("**/mask/padded?**", lambda route: held.append(route))
        press()
        open_tab(page, "Explore")
        with page.expect_response("**/mask/padded?**") as answer:
            held[0].continue_()
        answer.value.finished()
        described(page)
        page.unroute("**/mask/padded?**")
        assert page.get_attribute("#viz-tab-explore-button", "aria-selected") == "true"
        assert page.evaluate("vizTab.run.valid.every(Boolean)")
        open_tab(page, "Learn")
    press()
    page.wait_for_selector("#viz-tab-masks-button[aria-selected=true]")
    page.wait_for_selector(".viz-zoo-answer" if part else "#viz-mask-sentence")


@pytest.mark.slow
def test_one_click_says_whether_the_model_knows_word_order(learn, grammar):
    page = learn(step=2, text="the cat sees the dog", query=2, key=5)
    page.click(".viz-learn-order button")
    page.wait_for_selector(".viz-learn-order .viz-learn-vector:nth-child(5)")
    found = word_order(grammar, grammar.read("the cat sees the dog"), 2, 5)
    said = page.inner_text(".viz-learn-order p.viz-learn-equation")
    assert f"change by {found.apart[0]:.3f} of their length on average; without" in said
    assert "positions, by 0.000. So without positions, the model does not know" in said
    lines = ".viz-learn-order .viz-learn-vector:not(.viz-learn-dims)"
    printed = page.eval_on_selector_all(
        lines,
        "all => all.map(line => [...line.querySelectorAll('.viz-learn-number')]"
        ".map(cell => cell.textContent))",
    )
    shown_rows = np.array([[number(cell) for cell in line] for line in printed])
    expected = found.vectors[:, :, 2].reshape(4, -1)[:, : shown_rows.shape[1]]
    np.testing.assert_allclose(shown_rows, expected, atol=6e-4)
    page.evaluate("vizTab.selection.set({ query: 4 })")
    page.wait_for_function("vizLearn.shown.place.query === 4")
    page.wait_for_selector(".viz-learn-order .viz-learn-vector", state="hidden")


@pytest.mark.slow
def test_padding_is_put_beside_the_text_left_out_and_counted_by_mistake(learn, minilm):
    text = "dog bit man"
    page = learn(step=11, text=text, model="all-MiniLM-L6-v2", layer=0, head=0, query=1, key=2)
    page.click(".viz-learn-main button:has-text('Add 4 [PAD]')")
    page.wait_for_function("vizLearn.shown.run.tokens.length === 9")
    until_said(page, ".viz-learn-moved", "left out")
    alone = vz.capture(minilm, text).output.double().numpy()
    mean = number_row(page, "mean")
    np.testing.assert_allclose(mean, alone.mean(axis=0)[: len(mean)], atol=6e-4)
    names = page.locator(".viz-learn-main [role=rowheader]").all_inner_texts()
    assert names[4:6] == ["[PAD]", "[PAD]"]
    all_vectors = np.array(
        page.evaluate("[...vizLearn.steps.get(11).found.all].map(one => [...one])")
    )
    assert np.abs(all_vectors[:5] - alone).max() < 1e-4 * np.abs(alone).max()
    page.check(".viz-learn-main input[type=checkbox]")
    wrong = all_vectors.mean(axis=0)
    share = np.linalg.norm(wrong - alone.mean(axis=0)) / np.linalg.norm(alone.mean(axis=0))
    said = f"With 4 [PAD] counted, the mean moves by {share:.3f} of its length"
    until_said(page, ".viz-learn-moved", said)
    np.testing.assert_allclose(number_row(page, "mean"), wrong[: len(mean)], atol=6e-4)
    page.click(".viz-learn-main button:has-text('Remove [PAD]')")
    page.wait_for_function("vizLearn.shown.run.tokens.length === 5")
    page.wait_for_selector(".viz-learn-main label", state="hidden")
    np.testing.assert_allclose(number_row(page, "mean"), mean, atol=2e-3)


def number_row(page, name):
    """The printed numbers of the row of that name."""
    line = page.locator(".viz-learn-main [role=row]", has_text=re.compile(f"^{name}"))
    return np.array([number(cell) for cell in line.locator(".viz-learn-number").all_inner_texts()])


@pytest.mark.slow
def test_a_saved_run_says_that_its_model_is_not_here(visit, grammar, tmp_path):
    run = of_another_model(vz.capture(grammar, "the keys to the cabinet [MASK]"))
    run.save(path := tmp_path / "run.safetensors")
    opened = visit()
    opened.painted()
    opened.open_saved(path)
    opened.page.wait_for_url("**from=file**")
    open_tab(opened.page, "Learn")
    switches = opened.page.locator(".viz-learn-model")
    switches.get_by_text(
        "The switches run the model again, but no model here gives this run"
    ).wait_for()
    boxes = switches.locator(".viz-learn-switches").last.locator("input")
    assert boxes.count() == 4 and all(boxes.nth(at).is_disabled() for at in range(4))


def test_a_row_of_the_table_is_named_by_its_id(step, grammar):
    page = step(2)
    token = TEXT.split()[QUERY - 1]
    named = page.locator(".viz-learn-vector [role=rowheader]").first.inner_text()
    assert named == f"token id {grammar.read(token).values[0, 1]}"
    table = page.locator(".viz-learn-positions canvas[aria-label]")  # as it is once drawn
    table.wait_for()
    height = table.bounding_box()["height"]
    table.click(position={"x": 60, "y": height * 3.5 / 9})
    page.wait_for_function("vizLearn.shown.place.query === 3")
    table.hover(position={"x": 36, "y": height * 3.5 / 9})
    first = dict(grammar.model.named_parameters())["embed.position"][3, 0]
    said = page.inner_text(".viz-learn-positions .viz-caption")
    assert said.replace("\u2212", "-") == f"Position 3, dimension 0: {first:.3f}"
    page.check(".viz-learn-positions input")
    table.hover(position={"x": 37, "y": height * 3.5 / 9})
    said = page.inner_text(".viz-learn-positions .viz-caption")
    assert said == f"Position 3, dimension 0: {np.sin(3):.3f}"
    page.uncheck(".viz-learn-positions input")


def test_the_vector_goes_through_the_block_as_it_is_played(step, ran):
    page = step(3)
    lit = (
        "all => all.filter(each => each.dataset.reached === 'true').map(each => each.dataset.strip)"
    )
    strips = ".viz-learn-block [data-strip]"
    assert page.eval_on_selector_all(strips, lit) == ["x", "norm_attention", "qkv"]
    drawn = page.evaluate("[...vizLearn.block.places.find(({ id }) => id === 'x').strip.values]")
    np.testing.assert_allclose(drawn, ran.hidden(LAYER)[QUERY].numpy(), rtol=1e-6)
    page.click(".viz-learn-block button")
    page.wait_for_function("vizLearn.block.flow.ids[vizLearn.block.flow.at] === 'norm_attention'")
    assert page.eval_on_selector_all(strips, lit) == ["x", "norm_attention"]
    said = ".viz-learn-block .viz-caption"
    assert page.inner_text(said) == "norm: brings its numbers to a common scale."
    page.emulate_media(reduced_motion="reduce")
    page.evaluate("vizLearn.go(2)")
    assert page.inner_text(said) == "x: the vector of “[MASK]” after 2 blocks."
    page.click(".viz-learn-block button:has-text('Next part')")
    assert page.eval_on_selector_all(strips, lit) == ["x", "norm_attention"]
    page.emulate_media(reduced_motion="no-preference")


@pytest.mark.slow
def test_an_untrained_run_is_the_run_of_the_form_and_of_its_panel(learn):
    page = learn(step=12)
    until_said(page, ".viz-learn-headline", "24,034,304")
    parts = page.locator(".viz-learn-parts tbody td:last-child").all_inner_texts()
    assert sum(int(part.replace(",", "")) for part in parts) == 24_034_304
    beside = page.locator(".viz-learn-beside tbody tr").all_inner_texts()  # of T = 128 and D = 512
    costs = [line.split("\t")[1:] for line in beside]
    assert [int(each[0].replace(",", "")) for each in costs] == [2**23, 3 * 2**25, 2**25]
    assert [each[1:] for each in costs] == [["1", "1"], ["1", "43"], ["128", "128"]]
    page.fill(".viz-learn-fields label:has-text('width D') input", "500")
    page.keyboard.press("Tab")
    page.wait_for_selector(".viz-learn-parts", state="hidden")
    assert "500 cannot be divided" in page.inner_text(".viz-learn-refusal")
    page.fill(".viz-learn-fields label:has-text('width D') input", "64")
    page.keyboard.press("Tab")
    go = page.locator("button:has-text('Run it untrained')")
    assert go.evaluate("button => (button.click(), button.disabled && button.ariaBusy)") == "true"
    name = "untrained 6 × 8, d_model 64"
    page.wait_for_function("name => vizTab.run.model === name", arg=name)
    go.wait_for()  # it can run again
    of = "document.querySelector('.viz-learn .viz-masked').getBoundingClientRect()"
    page.wait_for_function(f"{of}.top > 0 && {of}.bottom < innerHeight")  # the result's message
    chosen = "name => document.querySelector('#viz-model input').value === name"
    page.wait_for_function(chosen, arg=name)
    key = page.evaluate("vizTab.run.key")
    page.click("#viz-run")
    page.wait_for_function("key => vizTab.run.key !== key", arg=key)
    assert page.evaluate("vizTab.run.model") == name
    page.select_option(".viz-learn-fields label:has-text('reads') select", "image")
    page.click("button:has-text('Run it untrained on the picture')")
    page.wait_for_function("vizTab.run.grid !== null")
    page.wait_for_function("document.querySelector('#viz-kind input:checked').value === 'image'")
