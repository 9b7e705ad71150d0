"""The words in place: shaded by a row, a column or another measure; hovered, walked and chosen."""

import re

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.ui.conftest import described

TOLD = ".viz-source-told"
PARTS = ".viz-source .viz-parts"


@pytest.fixture
def shaded(shared):
    """A page of its query, at its place, whose words are shaded."""
    return shared


@pytest.fixture
def alone(visit):
    """The same in a page of its own."""

    def open_words(**query):
        opened = visit(**query)
        opened.painted()
        opened.page.wait_for_selector(".viz-source[data-painted]")
        return opened

    return open_words


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    """700 tokens, too many for a whole map in one piece; saved, so without its model."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    with torch.no_grad(), vz.record(layer) as recording:
        layer(torch.randn(1, 700, 16))
    trace = recording.trace(tokens=[f"t{i}" for i in range(700)])
    trace.save(path := tmp_path_factory.mktemp("long") / "run.safetensors")
    return trace, path


def upload(opened, path) -> None:
    opened.open_saved(path)
    opened.page.wait_for_url("**run=**")
    opened.painted()


def strongest(values, names, shown=None) -> str:
    """The three largest of those shown, as the page lists them."""
    order = sorted(range(len(names)) if shown is None else shown, key=lambda at: -float(values[at]))
    number = lambda at: f"{at} " if names.count(names[at]) > 1 else ""  # noqa: E731
    said = [f"{number(at)}“{names[at]}” ({two_digits(float(values[at]))})" for at in order[:3]]
    return ", ".join(said)


def two_digits(weight: float) -> str:
    return f"{weight:.2f}" if weight >= 0.1 else f"{weight:#.2g}"


def wait_for_told(opened, text: str) -> None:
    opened.page.wait_for_function(
        "([where, text]) => document.querySelector(where).textContent.endsWith(text)",
        arg=[TOLD, text],
        timeout=10_000,
    )


def numbers(titles: list[str]) -> list[float]:
    return [float(re.search(r": ([\d.e-]+)$", title)[1]) for title in titles]


def titles(opened) -> list[str]:
    described(opened.page)
    return opened.page.eval_on_selector_all(
        ".viz-word", "all => all.map((chip) => chip.ariaDescription)"
    )


def test_the_readout_is_of_the_chosen_cell_once_the_pointer_leaves(shaded, trace):
    opened = shaded(layer=3, head=5, query=8, key=2)
    page, weights = opened.page, trace.attention(3, 5).numpy()
    said = lambda query, key: (  # noqa: E731
        f"3.5 query {query} “{trace.tokens[query]}” → key {key} “{trace.tokens[key]}”: "
    )
    is_said = """text => document.querySelector(".viz-readout:not(.viz-map-told)")
      .textContent.replace("  ", " ").startsWith(text)"""
    page.hover("[data-token='5']")
    page.wait_for_function(is_said, arg=said(8, 5))
    page.mouse.move(2, 2)
    page.wait_for_function(is_said, arg=said(8, 2))
    page.click("[data-token='6']")
    page.mouse.move(2, 2)  # else it points at what stands there once the findings are drawn
    page.wait_for_selector(".viz-source[data-painted$=':6']")
    strongest = int(weights[6].argmax())  # a query that is asked about takes its strongest key
    page.wait_for_function(is_said, arg=said(6, strongest))
    said_weight = page.inner_text(".viz-readout:not(.viz-map-told)")
    assert said_weight.endswith(f": {weights[6, strongest]:.4f}")


@pytest.mark.slow
def test_what_was_pointed_at_is_not_told_after_what_is_chosen(visit, long_run):
    """The row of a word that is pointed at comes late: a word was chosen meanwhile."""
    opened = visit()
    upload(opened, long_run[1])
    page, held = opened.page, []
    there = "document.querySelector('.viz-findings').dataset.painted === vizTab.run.key"
    page.wait_for_function(there)  # which would move the words from under the pointer
    page.evaluate("vizTab.selection.set({ layer: 0, head: 0, query: 1, key: 3 })")
    page.wait_for_selector(".viz-source[data-painted*=':0.0:1']")
    page.route(re.compile(r"/row\?.*query=[57]$"), lambda route: held.append(route))
    with page.expect_request("**/row?*query=5"):
        page.hover("[data-token='5']")
    with page.expect_request("**/row?*query=7"):
        page.evaluate("vizTab.source.words.chips[7].click()")
    chosen = page.inner_text(".viz-readout")
    assert "query 7 “t7” → key 3 “t3”" in chosen
    pointed, wanted = held
    with page.expect_response("**/row?*query=5"):
        pointed.continue_()
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.inner_text(".viz-readout") == chosen
    wanted.continue_()
    page.wait_for_selector(".viz-source[data-painted*=':0.0:7']")
    assert "query 7 “t7” → key " in page.inner_text(".viz-readout")  # the strongest, by now


def test_hovering_a_word_shows_its_row_and_leaving_the_chosen_one(shaded, trace):
    opened = shaded(layer=3, head=5, query=8)
    opened.page.evaluate("document.querySelector('.viz-word').mark = 'kept'")
    before = opened.page.eval_on_selector(TOLD, "node => node.textContent")
    for at in (10, 2):
        opened.page.hover(f"[data-token='{at}']")
        row = trace.attention(3, 5)[at].tolist()
        wait_for_told(opened, f"looks most at {strongest(row, trace.tokens)}")
        color = "document.querySelector(\"[data-token='0'] span\").style.backgroundColor"
        assert opened.page.evaluate(color) != ""
    assert opened.page.evaluate("window.vizTab.selection.query") == 8
    opened.page.mouse.move(2, 2)
    wait_for_told(opened, before)
    assert opened.page.evaluate("document.querySelector('.viz-word').mark") == "kept"


def test_the_darkest_chip_is_the_largest_weight(shaded, trace):
    opened = shaded(layer=3, head=5, query=8)
    opened.page.hover("[data-token='9']")
    row = trace.attention(3, 5)[9]
    wait_for_told(opened, strongest(row.tolist(), trace.tokens))
    brightness = opened.page.eval_on_selector_all(
        ".viz-word > span",
        "all => all.map((c) => c.style.backgroundColor.match(/\\d+/g).reduce((a, b) => a + +b, 0))",
    )
    steps = (row / row.max() * 63).round()
    order = np.lexsort((np.arange(len(row)), brightness))
    assert torch.equal(steps[order.tolist()], steps.sort(descending=True).values)


def test_who_looks_at_a_word_is_its_column(shaded, trace):
    opened = shaded(layer=3, head=5, query=4)
    opened.page.click("[data-direction='who']")
    opened.page.wait_for_selector(".viz-source[data-painted*=':who:'][data-painted$=':4']")
    assert "no fixed sum" in opened.page.inner_text(".viz-says")
    weights = trace.attention(3, 5)
    assert np.allclose(numbers(titles(opened)), weights[:, 4], atol=5e-5)
    opened.page.hover("[data-token='2']")
    column = strongest(weights[:, 2].tolist(), trace.tokens)
    wait_for_told(opened, f"is looked at most by {column}")
    opened.page.click("[data-token='2']")
    opened.page.wait_for_selector(".viz-source[data-painted$=':2']")
    assert opened.page.evaluate("[vizTab.selection.key, vizTab.selection.query]") == [2, 4]
    assert np.allclose(numbers(titles(opened)), weights[:, 2], atol=5e-5)


def test_arrows_walk_and_enter_chooses(shaded, trace):
    opened = shaded(layer=1, head=3, query=4)
    opened.page.focus("[data-token='4']")
    opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("ArrowRight")
    wait_for_told(opened, strongest(trace.attention(1, 3)[6].tolist(), trace.tokens))
    assert opened.page.evaluate("window.vizTab.selection.query") == 4
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_selector(".viz-source[data-painted$=':6']")
    assert opened.page.get_attribute("[data-token='6']", "aria-pressed") == "true"
    opened.page.keyboard.press("End")
    focused = "document.activeElement.dataset.token"
    assert opened.page.evaluate(focused) == str(trace.n_tokens - 1)


@pytest.mark.slow
def test_a_long_text_comes_in_parts_with_rows_on_hover_and_columns_on_click(alone, long_run):
    trace, path = long_run
    opened = alone()
    upload(opened, path)
    opened.page.wait_for_selector(".viz-source[data-painted]")
    assert opened.page.inner_text(PARTS).startswith("Tokens 0 to 599 of 700")
    weights = trace.attention(0, 0)
    goes_to_the_chosen_and_to_the_strongest(opened, weights)
    opened.page.hover("[data-token='5']")
    wait_for_told(opened, strongest(weights[5].tolist(), trace.tokens))
    opened.page.click("[data-direction='who']")
    opened.page.wait_for_selector(".viz-source[data-painted*=':who:']")
    opened.page.hover("[data-token='7']")
    wait_for_told(opened, "key 7 “t7”: click to compute it.")
    opened.page.click("[data-token='7']")
    opened.page.wait_for_selector(".viz-source[data-painted$=':7']")
    got = opened.page.evaluate("Array.from(window.vizTab.source.row)")
    assert np.abs(np.array(got) - weights[:, 7].numpy()).max() <= 1e-6
    opened.page.get_by_role("button", name="Later").click()
    assert opened.page.inner_text(PARTS).startswith("Tokens 100 to 699 of 700")
    opened.page.click("[data-token='699']")
    opened.page.wait_for_selector(".viz-source[data-painted$=':699']")
    assert opened.page.get_attribute("[data-token='699']", "aria-pressed") == "true"


def goes_to_the_chosen_and_to_the_strongest(opened, weights) -> None:
    """The part of a chosen token is shown at that token, and says where the strongest key is."""
    page = opened.page
    top = page.evaluate("scrollY")
    query = next(at for at in range(600, 700) if int(weights[at].argmax()) < 100)
    strongest_key = int(weights[query].argmax())
    page.evaluate("query => vizTab.selection.set({query})", query)
    page.wait_for_selector(f".viz-source[data-painted$=':{query}']")
    assert page.inner_text(f"{PARTS} span") == (
        f"Tokens 100 to 699 of 700; the strongest key {strongest_key} “t{strongest_key}” "
        "is in another part."
    )
    assert in_sight(page, query) and page.evaluate("scrollY") == top
    page.get_by_role("button", name="Go there").click()
    assert page.inner_text(f"{PARTS} span") == "Tokens 0 to 599 of 700."
    assert in_sight(page, strongest_key)
    page.evaluate("vizTab.selection.set({query: 0})")
    page.wait_for_selector(".viz-source[data-painted$=':0']")
    assert in_sight(page, 0)


def in_sight(page, token: int) -> bool:
    return page.evaluate(
        """(token) => {
          const box = document.querySelector(".viz-source-body");
          const outer = box.getBoundingClientRect();
          const inner = box.querySelector(`[data-token="${token}"]`).getBoundingClientRect();
          return inner.top >= outer.top && inner.bottom <= outer.bottom;
        }""",
        token,
    )  # fmt: skip


@pytest.mark.slow
def test_what_is_pending_changes_no_name_and_no_number(alone, trace):
    opened = alone(layer=3, head=5, query=8)
    page, row = opened.page, trace.attention(3, 5)[8]
    waiting = []
    page.route("**/map?*", lambda route: waiting.append(route))
    page.evaluate("vizTab.selection.set({head: 2})")
    page.wait_for_selector(".viz-source.viz-behind")
    page.check("#viz-hide")
    page.evaluate("document.body.classList.toggle('dark')")
    assert all(title.startswith("3.5  query 8 ") for title in titles(opened))
    assert np.allclose(numbers(titles(opened)), row, atol=5e-5)
    assert page.inner_text(".viz-source h3").startswith("Where query 8 “street” looks (3.5)")
    page.hover("[data-token='10']")
    wait_for_told(opened, strongest(trace.attention(3, 5)[10].tolist(), trace.tokens))
    assert "10 “" in page.inner_text(".viz-source h3")
    faded = "getComputedStyle(document.querySelector('.viz-source-body')).opacity"
    assert float(page.evaluate(faded)) < 0.7
    page.click("[data-token='10']")  # the token of that chip, though special ones are to be hidden
    assert page.evaluate("vizTab.selection.query") == 10
    for route in waiting:
        route.continue_()
    page.unroute("**/map?*")
    page.wait_for_selector(".viz-source[data-painted*=':hide:3.2:10']")
    page.mouse.move(2, 2)
    shown = [at for at in range(trace.n_tokens) if not trace.sample.special[at]]
    wait_for_told(opened, strongest(trace.attention(3, 2)[10], trace.tokens, shown))
    assert np.allclose(numbers(titles(opened)), trace.attention(3, 2)[10, shown], atol=5e-5)
    assert "(3.2)" in page.inner_text(".viz-source h3") and float(page.evaluate(faded)) == 1


@pytest.mark.slow
def test_a_text_of_no_words_is_said_and_right_to_left_names_stand_the_right_way(visit):
    """U+200B alone is no token; on a canvas "##ל" begins at its right."""
    page = visit(kind="text", a="\u200b").page
    page.wait_for_selector("text=The tokenizer finds no tokens in this text")
    page.add_init_script(
        """(() => {
          const { fillText } = CanvasRenderingContext2D.prototype;
          window.written = new Set();
          CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
            window.written.add(text);
            return fillText.call(this, text, ...at);
          };
        })()"""
    )
    page.goto(f"{page.url.split('?')[0]}?kind=text&a=כלבים")
    page.wait_for_selector(".viz-map[data-painted]")
    page.wait_for_function("window.written.has('[CLS]')")
    written = page.evaluate("[...window.written]")
    assert "\u2068##ל\u2069" in written and "##ל" not in written
