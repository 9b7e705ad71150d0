"""Figures of value-weighted maps: their numbers, names, units and captions."""

import importlib

import numpy as np
import pytest

import viz_encoder as vz
from tests.refusals import refused
from viz_encoder.analyses.rollout import rollout
from viz_encoder.analyses.value_weighted import value_weighted, value_weighted_sum
from viz_encoder.errors import SelectionError
from viz_encoder.figures.options import VIEWS

TEXT = "<b>the</b> the the <a href='x'>cat</a>"


def shown_text(figure):
    return " ".join(note.text for note in figure.layout.annotations).replace("<br>", " ")


@pytest.mark.parametrize("name", ["value_weighted", "value_weighted_depth"])
def test_heads_have_a_sum_and_no_mean(minilm, name):
    trace = vz.capture(minilm, TEXT)
    refused(SelectionError, "head is 'mean'; it", VIEWS[name].draw, minilm, trace, head="mean")


@pytest.mark.parametrize("head", [5, "sum"])
def test_the_added_lengths(minilm, head):
    padded = vz.capture(minilm, ["short", TEXT])[0]
    figure = vz.figures.value_weighted(minilm, padded, layer=3, head=head)
    masked, lengths = figure.data
    if head == "sum":
        expected = value_weighted_sum(minilm, padded, 3).norms
    else:
        expected = value_weighted(minilm, padded, 3, head=5).norms
    real = padded.valid.numpy()
    assert np.array_equal(lengths.z[:, real], expected[:, real])
    assert np.isnan(lengths.z[:, ~real]).all() and "masked" in masked.name
    assert "units of the hidden states" in lengths.colorbar.title.text
    assert figure.layout.yaxis.autorange == "reversed"
    assert "sum over heads" in figure.layout.title.text or "3.5" in figure.layout.title.text
    assert "Measured: the length" in shown_text(figure) and "Not measured" in shown_text(figure)


def test_long_runs_are_pooled(minilm, monkeypatch):
    module = importlib.import_module("viz_encoder.figures.value_weighted")
    trace = vz.capture(minilm, TEXT)
    monkeypatch.setattr(module, "MAX_SIDE", 4)
    monkeypatch.setattr(module, "BLOCK_CELLS", 1)
    figure = vz.figures.value_weighted(minilm, trace, layer=2, head=1)
    step = -(-trace.n_tokens // 4)
    norms = value_weighted(minilm, trace, 2, head=1).norms
    for row, names in enumerate(figure.data[0].y):
        for col in range(len(figure.data[0].x)):
            block = norms[row * step : (row + 1) * step, col * step : (col + 1) * step]
            assert figure.data[0].z[row, col] == pytest.approx(block.max(), rel=1e-6), names
    assert f"longest of {step} × {step}" in figure.layout.title.text


@pytest.mark.parametrize("head", [5, "sum"])
def test_the_added_lengths_of_one_query_in_each_layer(minilm, head):
    padded = vz.capture(minilm, ["short", TEXT])[0]
    figure = vz.figures.value_weighted_depth(minilm, padded, query=2, head=head)
    masked, lengths = figure.data
    real = padded.valid.numpy()
    assert lengths.z.shape == (padded.n_layers, padded.n_tokens)
    for layer in range(padded.n_layers):
        if head == "sum":
            expected = value_weighted_sum(minilm, padded, layer).norms[2]
        else:
            expected = value_weighted(minilm, padded, layer, head=5).norms[2]
        apart = np.abs(lengths.z[layer, real] - expected[real]).max()
        assert apart <= 1e-6 * expected.max(), layer
    assert np.isnan(lengths.z[:, ~real]).all() and "masked" in masked.name
    assert "attention to 2 “[SEP]”" in figure.layout.title.text
    assert "layers are not multiplied" in shown_text(figure)
    assert figure.layout.yaxis.title.text == "Layer"


@pytest.mark.parametrize("name", ["rollout", "value_weighted_depth"])
def test_many_keys_are_pooled_by_the_largest(minilm, monkeypatch, name):
    trace = vz.capture(minilm, TEXT)
    view = VIEWS[name]
    given = [{"encoder": minilm, "trace": trace}[what] for what in view.takes]
    exact = view.draw(*given, query=3).data[0].z
    monkeypatch.setattr(importlib.import_module("viz_encoder.figures.depth"), "MAX_KEYS", 4)
    figure = view.draw(*given, query=3)
    step = -(-trace.n_tokens // 4)
    for col, key in enumerate(figure.data[0].x):
        block = exact[:, col * step : (col + 1) * step]
        assert np.array_equal(figure.data[0].z[:, col], block.max(axis=1)), key
    assert f"est of {step} keys" in figure.layout.title.text


def test_a_querys_own_share_does_not_swallow_the_colors(minilm):
    trace = vz.capture(minilm, TEXT)
    heatmap = vz.figures.rollout(trace, query=3).data[0]
    rows = rollout(trace, 3).rows
    assert np.array_equal(heatmap.z, rows)  # all numbers stay
    others = np.delete(rows, 3, axis=1).max()
    assert rows[:, 3].max() > others
    assert heatmap.zmax == pytest.approx(others)
    assert heatmap.colorbar.ticktext[-1] == f"≥ {others:.3g}"
    assert heatmap.colorbar.tickvals[-1] == pytest.approx(others)
    added = vz.figures.value_weighted_depth(minilm, trace, query=3).data[0]
    assert added.zmax is None  # it has no such part
