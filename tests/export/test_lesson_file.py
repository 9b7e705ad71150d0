"""The lesson as one file: twelve steps in a browser without a network, each number numpy's."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import viz_encoder as vz
from tests.lesson.by_hand import VOCABULARY, Run, windowed
from tests.slow import slow
from tests.ui.axe import AXE, findings
from tests.ui.firefox import firefox_path, running
from viz_encoder.cli import main
from viz_encoder.export.lesson_file import MAX_BYTES, MOST_SEATS, draw_lesson
from viz_encoder.lesson.answer_list import asked_at
from viz_encoder.lesson.posed import exercises
from viz_encoder.lesson.result_code import Result, decode
from viz_encoder.lesson.seats import OWN_SENTENCE, seat

STEPS = range(1, 13)
LAYER, HEAD, QUERY, KEY = 2, 0, 6, 2
SEATS = (7, 17)
SENTENCE = "the dogs near the red box [MASK] the zebra"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The file with a few seats."""
    path = tmp_path_factory.mktemp("lesson") / "lesson.html"
    path.write_bytes(draw_lesson(SEATS))
    return path


@pytest.fixture
def opened(from_disk, file):
    """Opens the file, or another, by a link."""

    def open_page(link="?learn=1", path=file, width=1440, **more):
        return from_disk(path, link, width=width, **more)

    return open_page


def shown(page, step):
    page.wait_for_selector(f".viz-learn[data-painted$=':{step}']", timeout=30_000)


def until(page, condition, given=None):
    """Wait for a condition, a function of what is given; the page's policy allows no eval."""
    page.evaluate(
        f"""given => new Promise((done, fail) => {{
          const last = performance.now() + 30_000;
          const look = () => {{
            if (({condition})(given)) done();
            else if (performance.now() > last) fail(new Error("It never came true."));
            else requestAnimationFrame(look);
          }};
          look();
        }})""",
        given,
    )


def go(page, step):
    page.evaluate("step => vizLearn.go(step)", step)
    shown(page, step)


def headline(page, said):
    """Wait until the sentence over the step says this."""
    until(
        page,
        "said => document.querySelector('.viz-learn-headline').textContent.includes(said)",
        said,
    )


def move(page, layer, head):
    """To a head by the arrow keys."""
    page.evaluate("document.activeElement.blur()")
    for name, wanted, key in (("layer", layer, "ArrowRight"), ("head", head, "ArrowDown")):
        while (now := page.evaluate("name => vizLearn.shown.place[name]", name)) != wanted:
            page.keyboard.press(key)
            reached = "([name, next]) => vizLearn.shown.place[name] === next"
            until(page, reached, [name, (now + 1) % 4])


def weights(page):
    return page.eval_on_selector_all(
        ".viz-learn-scores [data-weight]", "all => all.map(each => Number(each.dataset.weight))"
    )


def near(found, wanted):
    """Within 5e-6 of the row's largest."""
    np.testing.assert_allclose(found, wanted, rtol=0, atol=5e-6 * np.abs(wanted).max())


@pytest.mark.slow
def test_with_all_seats_it_has_at_most_three_megabytes():
    assert len(draw_lesson(range(1, MOST_SEATS + 1))) <= MAX_BYTES


def test_it_is_one_file_of_which_each_seat_adds_little(file):
    assert file.stat().st_size < 1_300_000
    content = file.read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', content)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src" not in policy and "unsafe-eval" not in policy
    assert not re.search(r'(?:src|href)="https?:', content)


@pytest.mark.parametrize("scheme", [slow("light"), "dark"])
def test_all_steps_by_keyboard_on_a_phone_and_for_axe(opened, scheme):
    page = opened("?learn=1", scheme=scheme, width=390)
    page.evaluate(AXE.read_text("utf-8"))
    found = []
    for step in STEPS:
        shown(page, step)
        assert page.evaluate("vizLearn.step") == step
        until(page, "() => document.querySelector('.viz-learn-headline').textContent")
        assert page.locator(".viz-learn-missing").is_hidden()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, step
        found += [f"{step}: {told}" for told in findings(page)]
        if step < 12:
            page.keyboard.press("Space")
    assert not found, "\n".join(found)
    headline(page, "24,034,304 weights")
    assert page.locator("text=use viz-encoder").first.is_visible()
    assert page.get_by_role("button", name="Run it untrained").is_disabled()
    assert page.locator("a[download]").is_hidden()
    go(page, 10)
    page.select_option("#viz-learn-mask", "window")
    share = windowed(OWN_SENTENCE, 2).share("is", QUERY)
    headline(page, f"says “is” ({share:.3f}); without it, “are”")
    go(page, 9)
    page.wait_for_selector(".viz-learn-carried tfoot")
    page.keyboard.press("ArrowRight")
    until(page, "() => location.search.includes('layer=3')")


def test_another_sentence_gives_the_weights_of_pytorch(opened, grammar):
    page = opened("?learn=4")
    shown(page, 4)
    page.fill(".viz-lesson-text input", SENTENCE)
    page.keyboard.press("Enter")
    headline(page, "[MASK]")
    trace = vz.capture(grammar, SENTENCE)
    until(page, "() => vizLearn.run.n === 11 && vizLearn.shown?.run === vizLearn.run")
    query = trace.tokens.index("[MASK]")
    for layer, head in ((2, 0), (3, 1)):
        move(page, layer, head)
        near(weights(page), trace.attention(layer, head)[query].double().numpy())
    assert "does not know “zebra”" in page.inner_text(".viz-lesson-form")
    until(page, "() => vizLearn.question.exercises.length === 0")
    assert "on those of its seats" in page.inner_text(".viz-learn-question")
    until(page, "() => location.search.includes('a=the+dogs')")
    page.reload()
    shown(page, 4)
    assert page.input_value(".viz-lesson-text input") == SENTENCE


def test_changes_run_here_and_are_taken_back(opened):
    page = opened("?learn=4")
    shown(page, 4)
    n = len(OWN_SENTENCE.split()) + 2
    places = np.arange(n)
    causal = places[:, None] >= places
    hidden = causal & (places != KEY)
    steps = (
        ("mask: causal", Run(OWN_SENTENCE, causal)),
        ("remove head 2.0", Run(OWN_SENTENCE, causal, removed=((2, 0),))),
        ("set the positions", Run(OWN_SENTENCE, causal, positions=False, removed=((2, 0),))),
        ("hide “keys”", Run(OWN_SENTENCE, hidden, positions=False, removed=((2, 0),))),
    )
    page.evaluate("vizLearn.switches.fold.open = true")
    for label, run in steps:
        page.locator(".viz-learn-switches label", has_text=label).locator("input").click()
        share, word = run.shares(QUERY).max(), run.said(QUERY)
        until(
            page,
            "said => document.querySelector('.viz-lesson-changed').textContent.includes(said)",
            f"now it is “{word}” ({share:.3f})",
        )
        until(page, "() => vizLearn.shown?.run === vizLearn.run")
        near(weights(page), run.blocks[LAYER]["weights"][HEAD, QUERY])
    until(page, "() => location.search.includes('cut=c%2Ch2.0%2Cp%2Ct2')")
    page.reload()
    shown(page, 4)
    near(weights(page), steps[-1][1].blocks[LAYER]["weights"][HEAD, QUERY])
    page.get_by_role("button", name="Restore").click()
    page.wait_for_selector(".viz-lesson-changed", state="hidden")
    until(page, "() => vizLearn.shown?.run === vizLearn.run")
    near(weights(page), Run(OWN_SENTENCE).blocks[LAYER]["weights"][HEAD, QUERY])


@pytest.mark.parametrize("language", [slow("en"), "de"])
def test_a_seat_has_its_exercises_and_a_result_code(opened, grammar, language):
    page = opened(f"?learn=1&seed=17&learn.lang={language}")
    asked = asked_at(grammar, 17)
    until(page, "key => vizLearn.shown?.place.key === key", seat(17).source + 1)
    for step in STEPS:
        go(page, step)
        wanted = exercises(asked, step, language)
        ids = [each["id"] for each in wanted]
        until(
            page,
            "ids => String(vizLearn.question.exercises.map(({ id }) => id)) === String(ids)",
            ids,
        )
        assert page.evaluate("vizLearn.question.exercises") == wanted
    assert page.input_value(".viz-lesson-text input") == seat(17).text
    go(page, 4)
    wanted = exercises(asked, 4, language)[0]
    until(page, "id => vizLearn.question.exercises[0]?.id === id", wanted["id"])
    page.fill(".viz-learn-field input", f"{wanted['answer']:.{wanted['decimals']}f}")
    page.keyboard.press("Enter")
    page.wait_for_selector(".viz-learn-right")
    code = re.search(r"\w{6}-\w{6}-\w{6}", page.inner_text(".viz-learn-question"))[0]
    assert decode(code) == Result(17, frozenset({(4, 1)}))


def test_seats_are_opened_by_their_number(opened):
    page = opened("?learn=4&seed=9")
    shown(page, 4)
    assert "no seat 9; it has 7–17" in page.inner_text(".viz-lesson-form")
    assert page.input_value(".viz-lesson-text input") == OWN_SENTENCE
    until(page, "() => vizLearn.question.exercises.length === 4")
    page.fill(".viz-lesson-form input[type=number]", "7")
    with page.expect_navigation():
        page.get_by_role("button", name="Open", exact=True).click()
    shown(page, 4)
    assert page.input_value(".viz-lesson-text input") == seat(7).text
    until(page, "() => vizLearn.question.seat === 7")


def test_numbers_that_are_not_pytorchs_are_not_shown(opened, file, tmp_path):
    content = file.read_text(encoding="utf-8")
    found = re.search(r'"reference":\[\[(-?[\d.]+)', content)
    wrong = f'"reference":[[{float(found[1]) + 1e-3}'
    path = tmp_path / "wrong.html"
    path.write_text(content.replace(found[0], wrong), encoding="utf-8")
    page = opened(path=path)
    assert "differ from PyTorch" in page.inner_text("[role=alert]")
    assert page.locator(".viz-learn").count() == 0


def test_a_browser_that_keeps_the_address_of_a_file(opened):
    refuse = (
        "History.prototype.replaceState = () => { throw new DOMException('', 'SecurityError'); }"
    )
    page = opened("?learn=4", before=refuse)
    shown(page, 4)
    page.keyboard.press("Space")
    shown(page, 5)


def test_the_command_writes_it_in_german(opened, tmp_path, capsys):
    path = Path(tmp_path) / "lektion.html"
    command = ["lesson", "-o", str(path), "--seeds", "3-4", "--language", "de"]
    assert main(command) == 0
    assert capsys.readouterr().out == (
        f"{path}: {path.stat().st_size:,} bytes, with seats 3 to 4.\n"
    )
    page = opened("", path=path)
    shown(page, 1)
    go(page, 4)
    assert page.inner_text("h1") == "Der Weg eines Tokens durch einen Encoder"
    said = page.inner_text(".viz-learn-main")
    assert "Länge" in said and "Zeig auf eine Spalte" in said and "length" not in said
    page.select_option("select[aria-label^=Sprache]", "en")
    until(page, "() => document.documentElement.lang === 'en'")
    assert page.inner_text("h1") == "One token’s way through an encoder"
    kept = json.loads(page.text_content("#data-facts"))
    assert kept["tokenizer"]["model"]["vocab"] == VOCABULARY


@pytest.mark.browser
@pytest.mark.outside
@pytest.mark.skipif(firefox_path() is None, reason="no Firefox is installed")
def test_firefox_walks_all_steps_too(file, tmp_path):
    with running(tmp_path) as firefox:
        firefox.resize(1440, 1000)
        firefox.goto(file.as_uri() + "?learn=1")
        for step in STEPS:
            firefox.wait_for(f"document.querySelector(\".viz-learn[data-painted$=':{step}']\")")
            if step < 12:
                firefox.evaluate(f"vizLearn.go({step + 1})")
        columns = "getComputedStyle(document.querySelector('.viz-learn-columns')).display"
        assert firefox.evaluate(columns) == "grid"
        firefox.wait_for("location.search.includes('learn.step=12')")
        assert firefox.faults == []
