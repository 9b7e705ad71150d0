"""Figures of what is shown: hidden tokens leave the keys, the rest is divided; plain numpy."""

import numpy as np
import pytest

import viz_encoder as vz
from tests.by_hand import shown
from viz_encoder.analyses.rollout import rollout
from viz_encoder.analyses.value_weighted import value_weighted_sum
from viz_encoder.errors import SelectionError
from viz_encoder.figures.depth import shown_keys
from viz_encoder.figures.options import VIEWS

TEXT = "The reinterpretation of tokenization"
SWITCHES = [(False, False), (True, False), (False, True), (True, True)]


@pytest.fixture(scope="module")
def trace(minilm):
    return vz.capture(minilm, TEXT)


def measured(figure):
    """The cells, the names along them, and all that the figure says below."""
    heatmap = next(each for each in figure.data if each.showscale is not False)
    said = " ".join(each.text for each in figure.layout.annotations).replace("<br>", " ")
    return np.asarray(heatmap.z), list(heatmap.x or ()), said, heatmap.colorbar.title.text


def expected(rows, special, hide, renormalize):
    kept = [at for at, each in enumerate(special) if not (hide and each)]
    part = np.asarray(rows)[:, kept].astype(float)
    return (part / part.sum(axis=1, keepdims=True) if renormalize else part), kept


def rows_of(name, encoder, trace):
    if name == "rollout":
        return VIEWS[name].draw, (trace,), rollout(trace, 3).rows
    lengths = [value_weighted_sum(encoder, trace, at).norms[3] for at in range(trace.n_layers)]
    return VIEWS[name].draw, (encoder, trace), np.stack(lengths)


@pytest.mark.parametrize(("hide", "renormalize"), SWITCHES)
@pytest.mark.parametrize("name", ["rollout", "value_weighted_depth"])
def test_measures_over_depth_show_what_is_left(minilm, trace, name, hide, renormalize):
    draw, given, rows = rows_of(name, minilm, trace)
    figure = draw(*given, query=3, hide_special=hide, renormalize=renormalize)
    cells, names, said, unit = measured(figure)
    wanted, kept = expected(rows, trace.sample.special, hide, renormalize)
    assert np.abs(cells - wanted).max() <= 2e-5 * wanted.max()
    assert names == [f"{at} {trace.tokens[at]}" for at in kept]
    assert ("Special tokens are left out" in said) == hide
    assert ("divided by its sum over the keys shown" in said) == renormalize
    assert ("computed over all tokens" in said) == (hide or renormalize)
    assert ("tokens shown" in unit) == renormalize


@pytest.mark.parametrize(("hide", "renormalize"), SWITCHES)
def test_the_overlay_shows_what_is_left(picture, hide, renormalize):
    switches = {"hide_special": hide, "renormalize": renormalize}
    figure = VIEWS["patch_overlay"].draw(picture, layer=1, head=2, query=30, **switches)
    row = picture.attention(1, 2)[30].double().numpy()
    patches = row[1:] / (row[hide:].sum() if renormalize else 1)
    assert np.abs(figure.data[1].z.ravel() - patches).max() <= 2e-5 * patches.max()
    title = figure.layout.title.text
    assert ("[CLS]" in title, "special tokens hidden" in title) == (not hide, hide)
    assert ("row renormalized" in title) == renormalize


@pytest.mark.parametrize("words", [False, True])
def test_a_map_is_that_of_what_is_shown(trace, words):
    figure = VIEWS["attention_map"].draw(
        trace, layer=2, head=3, hide_special=True, renormalize=True, words=words
    )
    groups = vz.trace.token_selection.shown_tokens(trace, hide_special=True, words=words)
    wanted = shown(trace.attention(2, 3).double().numpy(), groups, renormalize=True)
    heatmap = next(each for each in figure.data if each.showscale is not False)
    assert np.abs(np.asarray(heatmap.z) - wanted).max() <= 2e-5
    assert "special tokens hidden, rows renormalized" in figure.layout.title.text
    assert ("sub-words merged" in figure.layout.title.text) == words
    assert any("reinterpretation" in name for name in heatmap.x) == words


def test_a_head_statistic_is_that_of_what_is_shown(trace):
    figure = VIEWS["head_statistics"].draw(
        trace, statistic="same", hide_special=True, renormalize=True
    )
    cells, _, said, _ = measured(figure)
    kept = [at for at, special in enumerate(trace.sample.special) if not special]
    for layer in range(trace.n_layers):
        part = trace.attention(layer).double().numpy()[:, kept][:, :, kept]
        part = part / part.sum(axis=2, keepdims=True)
        wanted = np.diagonal(part, axis1=1, axis2=2).mean(axis=1)
        assert np.abs(cells[layer] - wanted).max() <= 2e-5
    assert "Special tokens are left out" in said


def test_rows_without_anything_shown_stay_zero_and_masked_cells_stay_masked():
    rows = np.array([[1.0, 0.0, 0.0], [0.5, np.nan, 0.25]])
    special = (True, False, False)
    found = shown_keys(rows, special, hide_special=True, renormalize=True)
    assert found.rows[0].tolist() == [0, 0] and np.isnan(found.rows[1, 0])
    assert found.rows[1, 1] == 1 and found.place(0) is None and found.place(2) == 1
    with pytest.raises(SelectionError, match="show special tokens again"):
        shown_keys(rows, (True,) * 3, hide_special=True, renormalize=False)
