"""Figures of value-weighted maps: their numbers, names, units and captions."""

import numpy as np
import pytest

import viz_encoder as vz
from tests.refusals import refused
from viz_encoder.analyses.rollout import rollout
from viz_encoder.analyses.value_weighted import value_weighted, value_weighted_sum
from viz_encoder.errors import SelectionError
from viz_encoder.figures.options import VIEWS


def shown_text(figure):
    return " ".join(note.text for note in figure.layout.annotations).replace("<br>", " ")


@pytest.mark.parametrize("name", ["value_weighted", "value_weighted_depth"])
def test_heads_have_a_sum_and_no_mean(minilm, trace, name):
    refused(SelectionError, "head is 'mean'; it", VIEWS[name].draw, minilm, trace, head="mean")


@pytest.mark.parametrize("head", [5, "sum"])
def test_the_added_lengths(minilm, padded, head):
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


@pytest.mark.parametrize("head", [5, "sum"])
def test_the_added_lengths_of_one_query_in_each_layer(minilm, padded, head):
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
    assert "attention to 2 “b”" in figure.layout.title.text
    assert "layers are not multiplied" in shown_text(figure)
    assert figure.layout.yaxis.title.text == "Layer"


def test_a_querys_own_share_does_not_swallow_the_colors(minilm, trace):
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
