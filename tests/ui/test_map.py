"""The big map in a browser: finding tokens, head sets, scales, sums, words, renormalized rows."""

import json
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest

import viz_encoder as vz
from viz_encoder.trace.token_selection import shown_tokens

TEXT = "The reinterpretation of the text saw the cat and the tokenization"


@pytest.fixture(scope="module")
def trace(minilm):
    return vz.capture(minilm, TEXT)


def shown_map(trace, layer, head, *, special=True, words=False, renormalize=False):
    """The map by numpy alone, from the trace's own single-head weights."""
    every = trace.attention(layer).double().numpy()
    fused = every[list(head)].mean(axis=0) if isinstance(head, tuple) else every[head]
    entries = shown_tokens(trace, hide_special=not special, words=words)
    holds = np.zeros((len(entries), len(fused)))  # entry token: whether the token is in the entry
    for at, tokens in enumerate(entries):
        holds[at, list(tokens)] = 1
    if renormalize:
        fused = fused / (fused @ holds.T).sum(axis=1, keepdims=True)
    return holds / holds.sum(axis=1, keepdims=True) @ fused @ holds.T


def ask(opened, expression):
    return opened.page.evaluate(
        f"() => {{ const {{ map }} = window.vizTab; return {expression}; }}"
    )


def color_at(opened, row, col):
    """The color in the corner of a cell, clear of its printed number and of any outline."""
    return opened.page.evaluate(
        """([row, col]) => {
          const { map } = window.vizTab, cell = map.side / map.view.span;
          const ratio = map.canvas.width / map.width;
          const at = (start, place, from) => (start + (place - from + 0.12) * cell) * ratio;
          const [x, y] = [at(map.left, col, map.view.col), at(map.top, row, map.view.row)];
          const copy = new OffscreenCanvas(map.canvas.width, map.canvas.height);
          const context = copy.getContext("2d", { willReadFrequently: true });
          context.drawImage(map.canvas, 0, 0);
          return [...context.getImageData(Math.round(x), Math.round(y), 1, 1).data].slice(0, 3);
        }""",
        [row, col],
    )


def ramp(opened, share):
    """The color that the page gives a share of its scale."""
    return opened.imported("core/colors.js", "m.theme().ramp[Math.round(given * 255)]", share)


def near(color, expected):
    """One step of the ramp, for the page rounds float32 where we round float64."""
    return max(abs(a - b) for a, b in zip(color, expected, strict=True)) <= 4


def test_each_row_has_its_own_scale(shared, trace):
    opened = shared(layer=3, head=5, kind="text", a=TEXT, scale="row", query=0, key=0)
    opened.painted()
    expected = shown_map(trace, 3, 5)
    for row, col in [(3, 1), (3, 5), (7, 2), (9, 9)]:
        share = expected[row, col] / expected[row].max()
        assert near(color_at(opened, row, col), ramp(opened, share))
    top = int(expected[6].argmax())
    assert color_at(opened, 6, top) == ramp(opened, 1)
    assert "each row up to its own largest" in opened.page.inner_text(".viz-legend-title")


@pytest.mark.parametrize(("scale", "layers"), [("layer", [3]), ("all", range(6))])
def test_heads_share_a_scale(shared, trace, scale, layers):
    opened = shared(layer=3, head=5, kind="text", a=TEXT, scale=scale)
    opened.painted()
    top = max(float(trace.attention(layer).max()) for layer in layers)
    expected = shown_map(trace, 3, 5)
    assert expected.max() < top
    assert ask(opened, "map.scale.high") == pytest.approx(top, abs=1e-6)
    row, col = np.unravel_index(expected[2:, 2:].argmax(), expected[2:, 2:].shape)
    color = color_at(opened, int(row) + 2, int(col) + 2)
    assert near(color, ramp(opened, expected[row + 2, col + 2] / top))
    whose = "this layer's heads" if scale == "layer" else "all heads"
    assert f"up to the largest weight of {whose}" in opened.page.inner_text(".viz-legend-title")


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("renormalize", [False, True])
def test_hidden_renormalized_and_merged(shared, trace, words, renormalize):
    opened = shared(
        layer=3, head="2,5", kind="text", a=TEXT, hide=1, renorm=int(renormalize), words=int(words)
    )
    opened.painted()
    options = {"special": False, "words": words, "renormalize": renormalize}
    expected = shown_map(trace, 3, (2, 5), **options)
    values = np.array(ask(opened, "[...map.tiles[0].values]")).reshape(expected.shape)
    assert np.abs(values - expected).max() <= 2e-6 * expected.max()
    said = opened.page.inner_text(".viz-map h3")
    assert ("each row renormalized to sum to 1" in said) == renormalize
    assert ("weights not renormalized" in said) == (not renormalize)
    assert ("sub-words merged" in said) == words


def test_the_place_and_the_switches_live_in_the_url_and_come_back(shared):
    opened = shared(layer=3, head=4, kind="text", a=TEXT)
    page = opened.page
    page.click(".viz-atlas-grid [data-head='3.5']")
    opened.map_painted("3.5")
    page.focus(".viz-map-canvas")
    for key in (*["ArrowDown"] * 4, "ArrowRight"):
        page.keyboard.press(key)
    page.wait_for_url("**layer=3&head=5&query=4&key=1**")
    assert page.is_disabled("#viz-renorm")  # rows sum to 1 already
    for name in ("hide", "renorm", "words"):
        page.check(f"#viz-{name}")
    page.select_option("#viz-scale", "all")
    page.wait_for_url("**scale=all**")
    merged = ".viz-map[data-painted$=':3.5:hide+renorm+words']"
    page.wait_for_selector(merged)
    url, said = page.url, page.inner_text(".viz-readout")
    query = parse_qs(urlparse(url).query)
    assert [query[name] for name in ("hide", "renorm", "words", "scale")] == [["1"]] * 3 + [["all"]]
    page.reload()
    opened.painted()
    page.wait_for_selector(merged)
    assert page.url == url and page.inner_text(".viz-readout") == said
    assert [page.is_checked(f"#viz-{name}") for name in ("hide", "renorm", "words")] == [True] * 3
    assert page.input_value("#viz-scale") == "all"


def test_lines_follow_what_is_shown(shared, trace):
    page = shared(layer=3, head="2,5", kind="text", a=TEXT, hide=1, words=1, renorm=1).painted()
    page.click(".viz-lines summary")
    page.wait_for_selector(".viz-lines[data-painted]")
    assert page.inner_text(".viz-lines-heads") == "Layer 3, head 2, 5"
    maps = json.loads(
        page.evaluate("JSON.stringify(window.vizTab.lines.maps.map(({ values }) => [...values]))")
    )
    for head, values in zip((2, 5), maps, strict=True):
        expected = shown_map(trace, 3, head, special=False, words=True, renormalize=True)
        assert np.abs(np.array(values) - expected.ravel()).max() <= 2e-6
