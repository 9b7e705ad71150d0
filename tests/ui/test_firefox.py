"""Firefox: every tab opens, the map paints with its numbers, and the console stays silent."""

import numpy as np
import pytest

import viz_encoder as vz
from tests.ui.firefox import firefox_path, running
from tests.ui.other_site import ATTACK, SENT, other_site, uploads, watched_server
from tests.ui.texts import SENTENCES

pytestmark = pytest.mark.skipif(firefox_path() is None, reason="no Firefox is installed")
TABS = ["Explore", "Vectors", "Masks", "Learn", "Corpus"]
PRINTED = """(() => {
  const { map } = vizTab;
  const found = [];
  const { context, parts } = map;
  context.fillText = (text, x, y) => found.push([text, x, y]);
  map.draw();
  delete context.fillText;
  const cell = map.side / map.view.span;
  const place = (along, from) => Math.floor((along - from) / cell);
  const printed = found.map(([text, x, y]) => [text, place(y, map.top), place(x, map.left)]);
  const inside = (at) => at >= 0 && at < map.view.n;
  return { cell, printed: printed.filter(([, row, col]) => inside(row) && inside(col)) };
})()"""


@pytest.fixture(scope="module")
def firefox(tmp_path_factory):
    with running(tmp_path_factory.mktemp("firefox")) as browser:
        yield browser


def test_every_tab_opens(firefox, site):
    firefox.resize(1440, 1000)
    firefox.goto(site)
    firefox.wait_for("document.querySelector('.viz-map[data-painted]')")
    shown = "[...document.querySelectorAll('[role=tab]')].filter((tab) => tab.offsetWidth)"
    assert firefox.evaluate(f"[...new Set({shown}.map((tab) => tab.innerText.trim()))]") == TABS
    for name in TABS:
        firefox.evaluate(f"{shown}.find((tab) => tab.innerText.trim() === '{name}').click()")
        chosen = f"tab.innerText.trim() === '{name}' && tab.ariaSelected === 'true'"
        firefox.wait_for(f"{shown}.some((tab) => {chosen})")
        panel = "[...document.querySelectorAll('[role=tabpanel]')].find((one) => one.offsetHeight)"
        firefox.wait_for(f"{panel}?.querySelector('canvas, svg, table, button, .viz-word')")
    assert firefox.faults == []


def test_cells_of_a_small_map_show_their_numbers(firefox, site, minilm):
    """A cell of less than 34 pixels has two decimals, of weights that would not read as zero."""
    firefox.resize(1440, 1000)
    firefox.goto(f"{site}?layer=3&head=5&query=0&key=0")
    firefox.wait_for("document.querySelector('.viz-map')?.dataset.painted?.includes(':3.5:')")
    drawn = firefox.evaluate(PRINTED)
    weights = vz.capture(minilm, SENTENCES[0]).attention(3, 5).double().numpy()
    assert 20 <= drawn["cell"] < 34
    wanted = {(int(row), int(col)) for row, col in np.argwhere(weights >= 0.095)}
    assert {(row, col) for _, row, col in drawn["printed"]} == wanted
    for text, row, col in drawn["printed"]:
        assert float(text) == pytest.approx(weights[row, col], abs=0.005 + 1e-6)
    assert firefox.faults == []


def test_a_page_of_another_site_gets_nothing_done(firefox, caplog):
    with watched_server() as (ours, reached), other_site(ours) as theirs:
        before = uploads()
        for start in (theirs, theirs.replace("127.0.0.1", "localhost")):
            firefox.goto(start)
            firefox.evaluate(f"{ATTACK}('{ours}')")
            assert reached == [] and uploads() == before
        assert {m.split("'")[1] for m in caplog.messages if m.startswith("403 ")} == SENT
    firefox.faults.clear()
