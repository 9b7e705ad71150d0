"""Masks of 2,048 tokens: painted, undone, linked and followed through layers as numpy has them."""

import base64
from collections.abc import Iterator

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.ui.test_mask_files import send
from tests.ui.test_masks import at, bits, cells, pixel, post

pytestmark = pytest.mark.slow
N, LAYERS = 2048, 3
CAUSAL = np.tri(N, dtype=bool)


@pytest.fixture(scope="module")
def long(client, tmp_path_factory):
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).eval()
    with torch.no_grad(), vz.record(model) as recording:
        model(torch.randn(1, N, 16))
    path = tmp_path_factory.mktemp("long") / "run.safetensors"
    recording.trace(tokens=[f"t{at}" for at in range(N)]).save(path)
    sent = base64.b64encode(path.read_bytes()).decode()
    return client.predict(sent, api_name="/open_saved")["key"]


def known(mask: np.ndarray) -> Iterator[np.ndarray]:
    """What tokens know after one layer, two, and so on."""
    step = (mask | np.eye(len(mask), dtype=bool)).astype(np.float32)
    after = step
    while True:
        yield after > 0
        after = (step @ after > 0).astype(np.float32)


def painted(page) -> np.ndarray:
    letters = "Array.from(vizMasks.mask.pack(), (byte) => String.fromCharCode(byte)).join('')"
    return cells(base64.b64decode(page.evaluate(f"btoa({letters})")), N, N)


def test_reach_of_a_layer_is_bits_and_of_more_layers_is_refused_as_rows(site, client, long):
    mask = np.random.default_rng(0).random((N, N)) < 4e-4
    for layer, expected in zip(range(LAYERS), known(mask), strict=False):
        answer = post(site, long, f"reach?layer={layer}", bits(mask))
        assert len(answer.content) == N * N // 8
        np.testing.assert_array_equal(cells(answer.content, N, N), expected)
    with pytest.raises(Exception, match="written out up to 512"):
        client.predict(long, ["1" * N] * N, api_name="/mask_reach")


@pytest.fixture
def causal(masks, long):
    page = masks(run=long)
    page.select_option("#viz-mask-preset", "causal")
    page.wait_for_function("vizMasks.mask.summary().forbidden > 0")
    return page


def test_strokes_over_small_cells_are_exact_and_undone(causal):
    page, expected = causal, CAUSAL.copy()
    page.click("[data-tool=rectangle]")
    page.mouse.move(*at(page, 200, 1000))
    page.mouse.down()
    page.mouse.move(*at(page, 700, 1800), steps=3)
    corners = page.evaluate("(({ from, last }) => [from, last])(vizMasks.painter.strokes.stroke)")
    page.mouse.up()
    (top, left), (bottom, right) = corners
    assert 190 < top < 210 and 1790 < right < 1810
    expected[top : bottom + 1, left : right + 1] = True
    np.testing.assert_array_equal(painted(page), expected)
    allowed, forbidden = (pixel(page, *cell, "painter.grid") for cell in ((1500, 400), (50, 1900)))
    assert pixel(page, 400, 1500, "painter.grid") == allowed != forbidden
    page.keyboard.press("Control+z")
    np.testing.assert_array_equal(painted(page), CAUSAL)
    assert pixel(page, 400, 1500, "painter.grid") == forbidden
    page.keyboard.press("Control+y")
    np.testing.assert_array_equal(painted(page), expected)


def test_one_cell_of_millions_is_seen_and_reached_by_keys(causal):
    page = causal
    page.mouse.click(*at(page, 300, 1500))
    row, col = page.evaluate("vizMasks.painter.grid.chosen")
    expected = CAUSAL.copy()
    expected[row, col] = True
    np.testing.assert_array_equal(painted(page), expected)
    allowed, forbidden = (pixel(page, *cell, "painter.grid") for cell in ((1500, 400), (50, 1900)))
    middle = [at // 4 * 4 + 1.5 for at in (row, col)]  # of its block of 4 × 4 cells
    assert pixel(page, *middle, "painter.grid") not in (allowed, forbidden)
    page.focus(".viz-mask-painter canvas")
    for _ in range(6):
        page.keyboard.press("+")  # around the chosen cell, until cells have room
    assert pixel(page, row, col, "painter.grid") == allowed
    assert pixel(page, row + 1, col, "painter.grid") == forbidden
    page.keyboard.press("Shift+ArrowDown")  # an eighth of 32 rows
    page.keyboard.press("r")
    expected[row + 4] = True
    np.testing.assert_array_equal(painted(page), expected)


def test_a_link_holds_what_it_can_and_says_what_it_cannot(causal):
    page = causal
    page.click("#viz-masks >> text=Clear")
    page.click("[data-tool=row]")
    page.mouse.click(*at(page, 300, 1500))
    page.wait_for_function("location.search.includes('masks.mask=z.')")
    expected = painted(page)
    assert expected.sum() == N * (N - 1)
    speckled = np.random.default_rng(1).random((N, N)) < 0.5
    page.reload()
    page.wait_for_selector(".viz-masks[data-painted]", timeout=60_000)
    np.testing.assert_array_equal(painted(page), expected)
    send(page, "speckled.npy", speckled)
    page.wait_for_selector("text=This mask is too large for a link")
    np.testing.assert_array_equal(painted(page), speckled)
    assert "masks.mask" not in page.evaluate("location.search")


def test_reach_is_asked_for_layer_by_layer(causal):
    page, asked = causal, []
    page.wait_for_selector("[aria-label=Reach][data-painted*=':0:']", timeout=60_000)
    page.on("request", lambda r: asked.append(r.url) if "/reach" in r.url else None)
    page.select_option("#viz-mask-preset", "window")
    page.fill("[data-size=reach]", "3")
    said = "[data-layer='{}']:text-is('After {} can know {} of 2,048 tokens.')"
    page.wait_for_selector(said.format(0, "1 block “t0” (0)", 4), timeout=60_000)
    for way, layer in (("Next", 1), ("Next", 2), ("Previous", 1)):
        page.click(f"[aria-label=Reach] [aria-label='{way} layer']")
        many = min(3 * (layer + 1) + 1, N)  # the window reaches on by itself
        page.wait_for_selector(said.format(layer, f"{layer + 1} blocks “t0” (0)", many))
    assert len(page.query_selector_all(".viz-mask-known")) == many
    layers = [url.split("layer=")[1][0] for url in asked]
    assert layers == sorted(layers) and layers.count("1") == layers.count("2") == 1
