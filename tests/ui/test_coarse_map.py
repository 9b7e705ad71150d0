"""A long map at once: the atlas's own thumbnail, true block by block, then the finer map."""

import base64

import numpy as np
import pytest
import torch

import viz_encoder as vz

LONG = 700


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    """A recorded run of more tokens than come in one exact piece, and where it is saved."""
    torch.manual_seed(3)
    attention = torch.nn.MultiheadAttention(16, 2, batch_first=True).eval()
    with torch.no_grad(), vz.record(attention) as recording:
        x = 3 * torch.randn(1, LONG, 16)
        attention(x, x, x, need_weights=False)
    trace = recording.trace(tokens=[f"t{at}" for at in range(LONG)])
    path = tmp_path_factory.mktemp("runs") / "long.safetensors"
    trace.save(path)
    return trace, path


@pytest.fixture(scope="module")
def long_key(client, long_run):
    """The same on the server."""
    sent = base64.b64encode(long_run[1].read_bytes()).decode()
    return client.predict(sent, api_name="/open_saved")["key"]


@pytest.fixture
def long_page(visit, long_key):
    """Open the long run on a page, which has none of its maps yet."""

    def open_long(**size):
        opened = visit(run=long_key, **size)
        opened.page.wait_for_function("window.vizTab?.run?.n === 700", timeout=60_000)
        opened.painted()
        return opened

    return open_long


def test_no_spike_is_lost_where_the_screen_has_fewer_pixels(long_page, long_run):
    opened = long_page(width=390, height=844)
    page = opened.page
    for head in (0, 1):
        page.click(f".viz-atlas-grid [data-head='0.{head}']")
        opened.map_painted(f"0.{head}")
        page.wait_for_function("window.vizTab.map.tiles.length && !vizTab.map.tiles[0].sketch")
        weights = long_run[0].attention(0, head).numpy()
        order = np.argsort(-weights, axis=None)[:60]
        places = np.stack(np.unravel_index(order, weights.shape), axis=1)
        shown = page.evaluate(
            """(places) => {
              const { map } = window.vizTab, cell = map.side / map.view.span;
              const ratio = map.canvas.width / map.width;
              const { width, height } = map.canvas;
              const copy = new OffscreenCanvas(width, height);
              copy.getContext("2d").drawImage(map.canvas, 0, 0);
              const { data } = copy.getContext("2d").getImageData(0, 0, width, height);
              const near = [-2, -1, 0, 1, 2];
              return places.map(([row, col]) => {
                const [x, y] = [map.left + (col + 0.5) * cell, map.top + (row + 0.5) * cell];
                const [left, top] = [x, y].map((side) => Math.round(side * ratio));
                const green = (right, down) => data[4 * ((top + down) * width + left + right) + 1];
                return Math.min(...near.flatMap((down) => near.map((right) => green(right, down))));
              });
            }""",
            places.tolist(),
        )
        share = weights[tuple(places.T)] / weights.max()
        green = opened.imported(
            "core/colors.js",
            "given.map((share) => m.theme().ramp[Math.round(share * 255)][1])",
            share.tolist(),
        )
        assert [s <= g for s, g in zip(shown, green, strict=True)] == [True] * len(green)
