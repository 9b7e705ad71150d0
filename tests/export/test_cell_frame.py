"""A notebook's cell in Chromium: its frame draws, follows mouse and keys, and meets no other."""

import re

import pytest

import viz_encoder as vz
from tests.export.runs import random_trace

PAGE = (
    '<!doctype html><meta charset="utf-8"><body style="color: {ink}; background: {ground}">{cells}'
)


@pytest.fixture
def notebook(browser, tmp_path):
    """Opens cells on one page, as a notebook holds them, without a network; any fault fails."""
    faults, contexts = [], []

    def open_cells(*cells, ink="#111111", ground="white", width=1100):
        file = tmp_path / "notebook.html"
        outputs = "".join(f"<div>{cell._repr_html_()}</div>" for cell in cells)
        file.write_text(PAGE.format(ink=ink, ground=ground, cells=outputs), encoding="utf-8")
        context = browser.new_context(offline=True, viewport={"width": width, "height": 1200})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: faults.append(m.text))
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.on("request", lambda r: r.url.startswith("http") and faults.append(r.url))
        page.goto(file.as_uri())
        frames = [page.frame_locator("iframe").nth(at) for at in range(len(cells))]
        for frame in frames:
            frame.locator("body[data-painted]").wait_for(timeout=30_000)
        return page, *frames

    yield open_cells
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture(scope="module")
def animal(minilm):
    return vz.capture(minilm, "The animal didn't cross the street because it was too tired")


def point(frame, row: int, col: int) -> str:
    """Point at the middle of a cell of the map; what is said of it."""
    place = frame.locator("#map").evaluate(
        """(map, [row, col]) => { const { left, top, cell } = vizRun.drawn;
        return { x: left + (col + 0.5) * cell, y: top + (row + 0.5) * cell }; }""",
        [row, col],
    )
    frame.locator("#map").hover(position=place)
    return frame.locator("#readout").inner_text()


def weight(text: str) -> float:
    return float(re.search(r"weight ([\d.e-]+)", text)[1])


def inked(frame, canvas: str) -> str:
    """What is drawn there, as a text that changes with it."""
    return frame.locator(canvas).evaluate("(canvas) => canvas.toDataURL()")


def test_it_opens_with_a_sentence_and_the_weights_of_the_trace(notebook, animal):
    _, frame = notebook(animal.show(layer=3, query="it"))
    it, head = animal.tokens.index("it"), int(frame.locator("#head").input_value())
    row = animal.attention(3, head)[it]
    said = frame.locator("#said").inner_text()
    strongest = animal.tokens[int(row.argmax())]
    assert said.startswith(
        f"Head 3.{head}: it looks most at {strongest}: {float(row.max()):.2f} of"
    )
    for query, key in ((0, 0), (10, 2), (14, 7)):
        text = point(frame, query, key)
        names = f"query {query} “{animal.tokens[query]}” → key {key} “{animal.tokens[key]}”"
        assert names in text
        assert weight(text) == pytest.approx(float(animal.attention(3, head)[query, key]), abs=1e-4)


def test_pointing_at_a_word_previews_and_leaving_returns(notebook, animal):
    _, frame = notebook(animal.show(layer=3, head=1, query="it"))
    said = frame.locator("#said").inner_text()
    frame.locator(".viz-word").nth(6).hover()
    assert "cross looks most at street" in frame.locator("#said").inner_text()
    frame.locator("#title").hover()
    assert frame.locator("#said").inner_text() == said


def test_keys_choose_words_cells_and_heads(notebook, animal):
    page, frame = notebook(animal.show(layer=(2, 3), head=(1, 2, 4), query="it"))
    frame.locator('.viz-word[aria-pressed="true"]').focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert frame.locator('.viz-word[aria-pressed="true"]').inner_text() == "because"
    frame.locator("#map").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert "query 10 “it” → key 1 “the”" in frame.locator("#readout").inner_text()
    page.keyboard.press("Enter")
    assert frame.locator('.viz-word[aria-pressed="true"]').inner_text() == "it"
    frame.locator("#layer").select_option("3")
    frame.locator("#head").select_option("2")
    frame.locator('#atlas [aria-pressed="true"]').focus()
    page.keyboard.press("ArrowRight")
    assert frame.locator('#atlas [aria-pressed="true"]').get_attribute("data-name") == "3.4"
    page.keyboard.press("ArrowUp")
    assert frame.locator("#said").inner_text().startswith("Head 2.4: ")
    assert frame.locator("#layer").input_value() == "2"


def test_two_cells_do_not_meet(notebook, animal):
    page, first, second = notebook(animal.show(layer=3, head=1), animal.show(layer=2, head=0))
    other = second.locator("#said").inner_text()
    first.locator(".viz-word").nth(1).click()
    assert second.locator("#said").inner_text() == other
    assert page.evaluate("typeof vizRun + document.querySelector('iframe').contentDocument") == (
        "undefinednull"
    )


@pytest.mark.parametrize(("ink", "dark"), [("rgba(0, 0, 0, 0.87)", False), ("#d4d4d4", True)])
def test_it_is_as_dark_as_the_notebook_and_as_high_as_it_needs(notebook, animal, ink, dark):
    page, frame = notebook(animal.show(), ink=ink, ground="#111111" if dark else "white")
    frame.locator("html.dark" if dark else "html:not(.dark)").wait_for()
    needed = frame.locator("body").evaluate("(body) => body.offsetHeight")
    page.wait_for_function("(h) => document.querySelector('iframe').offsetHeight === h", arg=needed)


def test_a_picture_is_shaded_where_its_patches_are(notebook, picture):
    page, frame = notebook(picture.show(layer=1, head=3))
    assert frame.locator(".viz-picture").count() == 1 and frame.locator(".arcs").count() == 0
    before = inked(frame, ".viz-picture")
    side = frame.locator(".viz-picture").bounding_box()["width"] / 10
    frame.locator(".viz-picture").click(position={"x": 4.5 * side, "y": 2.5 * side})
    assert frame.locator("#exact code").inner_text() == "trace.attention(1, 3)[25]"  # after [CLS]
    assert inked(frame, ".viz-picture") != before
    page.keyboard.press("ArrowRight")
    assert frame.locator("#exact code").inner_text() == "trace.attention(1, 3)[26]"


def test_blocks_and_what_is_left_out_are_named(notebook):
    trace = random_trace(1500, 2, 2)
    _, frame = notebook(trace.show(max_bytes=300_000))
    assert re.search(r"of 4 heads fit here", frame.locator("#left-out").inner_text())
    assert "Each cell is the largest weight of" in frame.locator("#kept").inner_text()
    assert "the largest weight of tokens" in frame.locator("#said").inner_text()
