"""The picture in place: patches, prefix tokens, what is kept of the mass, and all heads at once."""

import re

import numpy as np
import pytest

import viz_encoder as vz
from tests.ui.test_words import strongest, wait_for_told
from tests.ui.texts import PICTURES
from viz_encoder.bundled import asset
from viz_encoder.ui.wire.run_facts import known_labels

WIDE = {"kind": "image", "example": "a wide scene", "layer": 1, "head": 2, "query": 30}


@pytest.fixture(scope="module")
def wide():
    return vz.capture(vz.load("scene", device="cpu"), asset(PICTURES["a wide scene"]))


@pytest.fixture
def shaded(shared):
    """A page of its query, at its place, with the picture shaded."""
    return lambda **query: shared(proven, **query)


def proven(opened) -> None:
    opened.page.wait_for_selector("#viz-proof.viz-good")


def point(opened, token: int) -> None:
    opened.page.locator(".viz-picture").scroll_into_view_if_needed()
    box = opened.page.evaluate(
        """token => {
          const { picture } = window.vizTab.source;
          const unit = picture.units.findIndex(({ tokens }) => tokens.includes(token));
          return picture.box(unit - picture.first);
        }""",
        token,
    )
    opened.page.mouse.move(*box)


def test_hovering_a_patch_shows_its_row(shaded, wide):
    opened = shaded(**WIDE)
    weights = wide.attention(1, 2)
    for token in (68, 120, 1):
        point(opened, token)
        wait_for_told(opened, strongest(weights[token].tolist(), wide.tokens))
    opened.page.hover("[data-token='0']")  # [CLS], beside the picture
    wait_for_told(opened, strongest(weights[0].tolist(), wide.tokens))
    assert opened.page.evaluate("window.vizTab.selection.query") == 30
    assert opened.page.inner_text(".viz-source h3").startswith("Where query 0 ")
    opened.page.mouse.move(2, 2)
    wait_for_told(opened, strongest(weights[30].tolist(), wide.tokens))
    opened.page.click("[data-direction='who']")
    opened.page.wait_for_selector(".viz-source[data-painted*=':who:'][data-painted$=':30']")


def largest_said(title):
    return float(re.search(r": largest weight on a patch (\d\.\d{4})$", title)[1])


def rounded(weight):
    """Four digits; two processors may round a weight halfway between two to either."""
    return pytest.approx(weight, abs=5.1e-5)


def test_every_head_of_every_layer_over_the_picture(shaded, wide):
    """One request a layer; the numbers, and the color of a patch, are those of the weights."""
    opened = shaded(**WIDE)
    page = opened.page
    page.locator(".viz-picture-cell[data-head='3.3']").scroll_into_view_if_needed()
    page.wait_for_selector(".viz-source-aside [data-painted$=':30']")
    names = page.locator(".viz-picture-cell:visible").all_inner_texts()
    every = [f"{layer}.{head}" for layer in range(4) for head in range(4)]
    assert [name.strip() for name in names] == every
    for head in every:
        said = page.get_attribute(f".viz-picture-cell[data-head='{head}']", "title")
        row = wide.attention(*map(int, head.split(".")))[30, 1:].numpy()
        assert said.startswith(f"Head {head}: ") and largest_said(said) == rounded(row.max())
    row = wide.attention(2, 1)[30, 1:].numpy()
    top = np.unravel_index(int(row.argmax()), (wide.grid.n_rows, wide.grid.n_cols))
    assert page.evaluate(PATCH_OF, ["2.1", *map(int, top), wide.grid.n_rows, wide.grid.n_cols]) == [
        *(255, 59, 20),
        255,
    ]
    asked = []
    page.on("request", lambda r: asked.append(r.url) if "/rows?" in r.url else None)
    page.click(".viz-picture-cell[data-head='3.2']")
    page.wait_for_selector(".viz-source[data-painted*=':3.2:']")
    pressed = page.get_attribute(".viz-picture-cell[data-head='3.2']", "aria-pressed")
    assert pressed == "true" and not asked
    page.keyboard.press("ArrowUp")
    page.wait_for_selector(".viz-source[data-painted*=':2.2:']")
    assert page.evaluate("document.activeElement.dataset.head") == "2.2" and not asked
    assert page.locator(".viz-picture-cell[tabindex='0']").count() == 1
    page.evaluate("vizTab.selection.set({ query: 31 })")
    page.wait_for_selector(".viz-source-aside [data-painted$=':31']")
    layers = sorted(url.split("layer=")[1] for url in asked)
    assert layers == [f"{layer}&query=31" for layer in range(4)]


PATCH_OF = """([name, row, col, rows, cols]) => {
  const canvas = document.querySelector(`.viz-picture-cell[data-head='${name}'] canvas`);
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
  copy.drawImage(canvas, 0, 0);
  const at = [((col + 0.5) * canvas.width) / cols, ((row + 0.5) * canvas.height) / rows];
  return [...copy.getImageData(...at.map(Math.floor), 1, 1).data];
}"""


def test_a_model_of_digits_says_so_beside_its_prediction(shaded):
    said = shaded(**WIDE).page.inner_text(".viz-guess .viz-caption:last-child")
    assert said == "This model knows only the digits 0 to 9; anything else is read as one of them."


def test_the_prediction_is_in_sight_with_the_picture(shaded):
    opened = shaded(**WIDE)
    opened.page.set_viewport_size({"width": 1440, "height": 900})
    scene = vz.load("scene", device="cpu")
    trace = vz.capture(scene, asset(PICTURES["a wide scene"]))
    (found,) = vz.analyses.predictions(scene, trace, n=1)
    said = f"Predicted label: “{found.labels[0]}” ({found.shares[0]:.4f})"
    fact = opened.page.locator(".viz-facts").get_by_text(said, exact=True)
    fact.wait_for()
    box = fact.bounding_box()
    assert box["y"] + box["height"] < 900


def test_what_a_head_knows_is_of_its_labels():
    digits = [str(digit) for digit in range(10)]
    assert known_labels(digits[::-1]).startswith("This model knows only the digits 0 to 9;")
    assert known_labels([*digits, "a"]) == known_labels([]) == known_labels(["sure"]) == ""
    assert known_labels(digits[1:]).startswith("This model knows only these 9 labels;")
    assert known_labels(["no", "yes"]).startswith("This model knows only these 2 labels;")


def test_a_phone_shows_the_sliders_whole(shaded):
    page = shaded(**WIDE).page
    page.set_viewport_size({"width": 320, "height": 1000})
    page.wait_for_function("innerWidth === 320")
    page.wait_for_selector(".viz-narrow")
    inside = page.evaluate(
        """() => [...document.querySelectorAll(".viz-picture-controls label")].map((line) => {
          const words = document.createRange();
          words.selectNodeContents(line);
          const room = line.parentElement.getBoundingClientRect();
          return room.right - words.getBoundingClientRect().right;
        })"""
    )
    assert len(inside) == 2 and min(inside) >= 0
