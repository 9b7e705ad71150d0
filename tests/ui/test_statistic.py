"""What the switches leave out is left out of heads' statistics and of their colors, too."""

import numpy as np
import pytest

import viz_encoder as vz
from tests.ui.texts import SENTENCES

FOUND = "vizTab.measures.heads('previous').map(({ value }) => value)"


def shares(trace, layer, head, special):
    """The map of the tokens that are no special ones, its rows divided by their sums."""
    kept = [at for at in range(trace.n_tokens) if not special[at]]
    weights = trace.attention(layer, head).double().numpy()[np.ix_(kept, kept)]
    return weights / weights.sum(axis=1, keepdims=True)


def test_statistics_follow_the_switches_and_say_over_what_they_are(shared, minilm):
    trace = vz.capture(minilm, SENTENCES[0])
    expected = [
        np.diag(shares(trace, layer, head, trace.sample.special), -1).mean()
        for layer in range(6)
        for head in range(12)
    ]
    page = shared().page
    page.select_option("#viz-statistic", "previous")
    page.select_option("#viz-order", "highest")
    plain = page.evaluate(FOUND)
    page.check("#viz-hide")
    page.check("#viz-renorm")
    page.wait_for_selector(".viz-atlas[data-painted][data-kept='hide+renorm']")
    assert page.evaluate(FOUND) == pytest.approx(expected, abs=2e-6)
    best = int(np.argmax(expected))
    first = page.get_attribute(".viz-atlas-cell >> nth=0", "data-head")
    assert first == f"{best // 12}.{best % 12}"
    said = page.inner_text(".viz-order")
    assert "Special tokens are left out." in said
    assert "Rows are renormalized: each is divided by its sum over the tokens shown." in said
    assert "Maps with special tokens hidden, rows renormalized" in page.inner_text(".viz-atlas")
    page.fill("#viz-find", "previous token over 0.5")
    many = sum(value >= 0.5 for value in expected)
    assert page.inner_text(".viz-order-said").startswith(f"{many} head")
    page.fill("#viz-find", "special tokens")
    assert "Special tokens are hidden; show them" in page.inner_text(".viz-order-said")
    page.fill("#viz-find", "")
    page.uncheck("#viz-renorm")
    page.uncheck("#viz-hide")
    page.wait_for_selector(".viz-atlas[data-painted][data-kept=all]")
    assert page.evaluate(FOUND) == plain
    assert "left out. " not in page.inner_text(".viz-order").replace("is left out.", "")


def test_colors_shared_by_heads_go_up_to_the_largest_weight_that_is_shown(shared, minilm):
    trace = vz.capture(minilm, SENTENCES[0])
    kept = [at for at in range(trace.n_tokens) if not trace.sample.special[at]]
    whole = trace.attention(5).numpy()
    largest = whole[:, kept][:, :, kept].max()
    assert largest < whole.max() - 0.01
    opened = shared(layer=5, hide=1, scale="layer")
    opened.page.wait_for_selector(".viz-map[data-painted*=':5.0:']")
    opened.page.wait_for_function(
        "largest => Math.abs(vizTab.map.scale?.high - largest) < 1e-6", arg=float(largest)
    )
