"""A long map at once: the atlas's own thumbnail, true block by block, then the finer map."""

import numpy as np
import pytest
import torch

import viz_encoder as vz

pytestmark = pytest.mark.browser
LONG = 700
STEP = 11  # 700 tokens in at most 64 cells a side


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
    return trace, str(path)


def test_a_thumbnail_stands_in_until_the_map_comes(visit, long_run):
    trace, path = long_run
    opened = visit()
    opened.painted()
    opened.page.click("text=Open a saved run")
    opened.page.set_input_files("#viz-saved input[type=file]", path)
    opened.page.wait_for_function("window.vizTab.run?.n === 700", timeout=60_000)
    opened.painted()
    held = []
    opened.page.route("**/map?**", lambda route: held.append(route))
    opened.page.click("[data-head='0.1']")
    opened.page.wait_for_selector(".viz-map[data-coarse*=':0.1:']")
    assert f"largest of {STEP} × {STEP}" in opened.page.inner_text(".viz-map h3")
    said = opened.hover(25, 40)
    block = trace.attention(0, 1)[22:33, 33:44].numpy()
    assert f"at most {np.max(block):.4f} in {STEP} × {STEP} cells" in said
    assert held and not opened.page.query_selector(".viz-map[data-painted*=':0.1:']")
    opened.page.unroute("**/map?**")  # which lets go of what was held
    opened.map_painted("0.1")
    assert "largest of 2 × 2" in opened.page.inner_text(".viz-map h3")
