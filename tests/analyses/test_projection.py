"""The projection against scikit-learn's PCA, sign and all."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

import viz_encoder as vz
from tests.by_hand import kept, loud
from tests.refusals import refused
from viz_encoder.analyses.projection import projection
from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError

TEXTS = ["A short one", "The animal didn't cross the street because it was too tired"]


@pytest.fixture(scope="module")
def runs(minilm):
    """Fewer points than dimensions and padding; more points than dimensions."""
    scene = vz.load("scene", device="cpu")
    picture = vz.capture(scene, asset("examples/digit.png"))
    return {"text": loud(vz.capture(minilm, TEXTS)[0]), "picture": picture}


def expected(trace, layers, special, center):
    at = kept(trace, special)
    parts = [trace.hidden(layer)[at].double().numpy() for layer in layers]
    if center == "each layer":
        parts = [part - part.mean(axis=0) for part in parts]
    fit = PCA(n_components=2, svd_solver="full")
    points = fit.fit_transform(np.concatenate(parts)).reshape(len(layers), len(at), 2)
    return points, fit, at


@pytest.mark.parametrize("which", ["text", "picture"])
@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("center", ["together", "each layer"])
@pytest.mark.parametrize("layers", [None, (3, 1)])
def test_it_is_scikit_learn_s(runs, which, special, center, layers):
    trace = runs[which]
    found = projection(trace, states=layers, hide_special=not special, center=center)
    chosen = tuple(range(len(trace.hidden_states))) if layers is None else layers
    points, fit, at = expected(trace, chosen, special, center)
    assert found.states == chosen and found.tokens.tolist() == at
    assert np.abs(found.points - points).max() <= 1e-9 * np.abs(points).max()
    assert np.abs(found.shares - fit.explained_variance_ratio_).max() <= 1e-9
    assert np.abs(found.axes - fit.components_).max() <= 1e-7


@pytest.mark.parametrize("which", ["text", "picture"])
def test_the_axes_do_not_flip(runs, which):
    """Mirrored states would, if the sign were left to the solver."""
    trace = runs[which]
    mirrored = replace(trace, hidden_states=tuple(-state for state in trace.hidden_states))
    one, other = projection(trace), projection(mirrored)
    assert np.allclose(one.axes, other.axes, atol=1e-9)
    assert np.allclose(one.points, -other.points, atol=1e-9)
    largest = np.abs(one.axes).argmax(axis=1)
    assert (one.axes[range(2), largest] > 0).all()


def test_points_that_do_not_differ(runs):
    trace = runs["text"]
    same = tuple(torch.ones_like(state) for state in trace.hidden_states)
    found = projection(replace(trace, hidden_states=same))
    assert not found.points.any() and found.shares.tolist() == [0, 0]


def test_two_points_have_one_axis(runs):
    found = projection(runs["picture"], states=[0, 4])
    alone = replace(runs["text"], valid=torch.arange(runs["text"].n_tokens) == 1)
    two = projection(alone, states=[0, 4])
    assert two.points.shape == (2, 1, 2) and two.shares[0] == pytest.approx(1)
    between = alone.hidden(0)[1].double() - alone.hidden(4)[1].double()
    assert abs(two.points[0, 0] - two.points[1, 0])[0] == pytest.approx(float(between.norm()))
    assert found.shares.sum() < 1


def test_what_is_not_there_is_said(runs):
    trace = runs["text"]
    refused(SelectionError, "choose one of together, each layer", projection, trace, center="never")
    for layers in ([1, 1], []):
        refused(SelectionError, "give different states", projection, trace, states=layers)
