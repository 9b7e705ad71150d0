"""Masks of 2,048 tokens: painted, undone, linked and followed through layers as numpy has them."""

import base64

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.ui.test_mask_files import send
from tests.ui.test_masks import at, cells, pixel

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


def painted(page) -> np.ndarray:
    letters = "Array.from(vizMasks.mask.pack(), (byte) => String.fromCharCode(byte)).join('')"
    return cells(base64.b64decode(page.evaluate(f"btoa({letters})")), N, N)


def test_reach_of_all_layers_is_refused_as_rows(client, long):
    with pytest.raises(Exception, match="written out up to 512"):
        client.predict(long, ["1" * N] * N, api_name="/mask_reach")


@pytest.fixture
def causal(masks, long):
    page = masks(run=long)
    page.select_option("#viz-mask-preset", "causal")
    page.wait_for_function("vizMasks.mask.summary().forbidden > 0")
    return page


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
    page.wait_for_selector("#viz-mask-verdict:visible")  # against what was painted
    page.select_option("#viz-mask-preset", "file")
    page.wait_for_selector("text=This mask is too large for a link")
    np.testing.assert_array_equal(painted(page), speckled)
    assert "masks.mask" not in page.evaluate("location.search")
