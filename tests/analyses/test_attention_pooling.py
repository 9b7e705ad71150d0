"""Attention pooling: the query learns what the labels ask for, and held-out items stay unseen."""

from importlib import import_module

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.refusals import refused
from viz_encoder.analyses.attention_pooling import attention_pooling
from viz_encoder.analyses.collection import collection
from viz_encoder.analyses.pooled import pooled
from viz_encoder.errors import InputError, SelectionError, TooLong, TraceError
from viz_encoder.inputs.items import Item

module = import_module("viz_encoder.analyses.attention_pooling")


def train(*given):
    """One training, alone."""
    with module._one_thread():
        return module._train(*given, module._Told(None, 0))


@pytest.fixture(scope="module")
def trained(minilm):
    return attention_pooling(minilm, seeds=(0, 1))


def test_the_builtin_set_is_learned(trained):
    assert trained.state == 6 and trained.labels == ("cooking", "music", "space", "sport")
    assert trained.queries.shape == (2, 384) and trained.losses.shape == (2, 150)
    assert (trained.losses[:, -1] < 0.1 * trained.losses[:, 0]).all()
    assert (trained.losses[:, 0] > 0.5).all()  # near ln 4 before the first step
    assert trained.n_folds == 5 and trained.chance == 0.25
    for name in ("attention", "mean", "cls"):
        assert trained.accuracy[name].shape == (2,) and (trained.accuracy[name] > 0.8).all()


def test_the_query_finds_the_token_that_decides():
    """One of 12 tokens carries the label; its sign is lost in the mean, and in the first token."""
    random = torch.Generator().manual_seed(0)
    n, d = 200, 8
    states = torch.randn(n, 12, d, generator=random)
    targets = torch.arange(n) % 2
    marked = torch.randint(1, 12, (n,), generator=random)
    states[torch.arange(n), marked, 0] = 6.0  # says: look here
    states[torch.arange(n), marked, 1] = targets * 3.0 - 1.5
    valid = torch.ones(n, 12, dtype=torch.bool)
    held_out = module._folds(targets, 0)
    found = train(states, valid, targets, held_out, 0, 800)
    even = train(states.mean(dim=1)[:, None], valid[:, :1], targets, held_out, 0, 800)
    assert found.accuracy > 0.9 > 0.8 > even.accuracy
    weights = (states @ found.query / d**0.5).softmax(dim=1)
    assert (weights.argmax(dim=1) == marked).float().mean() > 0.9


def test_labels_without_sense_are_not_learned():
    """Held-out accuracy of random labels is chance; a leak would lift it to 1."""
    random = torch.Generator().manual_seed(1)
    states = torch.randn(40, 5, 64, generator=random)
    targets = torch.arange(40) % 2
    valid = torch.ones(40, 5, dtype=torch.bool)
    accuracy = [
        train(states, valid, targets, module._folds(targets, seed), seed, 100).accuracy
        for seed in range(4)
    ]
    assert 0.25 < np.mean(accuracy) < 0.75


def test_each_item_is_held_out_once_and_labels_are_spread():
    targets = torch.tensor([0] * 10 + [1] * 7 + [2] * 5)
    held_out = module._folds(targets, 3)
    assert held_out.shape == (6, 22) and not held_out[-1].any()
    assert held_out.sum(dim=0).tolist() == [1] * 22
    for label in range(3):
        assert held_out[:-1, targets == label].any(dim=1).all()


def test_padding_takes_no_part():
    random = torch.Generator().manual_seed(2)
    states = torch.randn(8, 6, 4, generator=random)
    valid = torch.arange(6) < torch.tensor([6, 5, 4, 3, 2, 6, 5, 1])[:, None]
    targets = torch.arange(8) % 2
    held_out = module._folds(targets, 0)
    a = train(states, valid, targets, held_out, 0, 20)
    rubbish = torch.where(valid[..., None], states, 50)
    b = train(rubbish, valid, targets, held_out, 0, 20)
    assert torch.allclose(a.query, b.query, atol=1e-5) and torch.allclose(a.losses, b.losses)


def test_the_query_pools_and_shows_its_weights(minilm, trained):
    trace = vz.capture(minilm, "The goalkeeper saved the ball")
    vector = vz.pool(trace.output, trace.valid, "attention", query=torch.from_numpy(trained.query))
    shown = pooled(minilm, trace, methods=["attention"], states=[-1], queries={6: trained.query})
    assert shown.weights.sum() == pytest.approx(1, abs=1e-5)
    assert np.allclose(shown.vectors["attention"][0], vector.numpy(), atol=1e-6)
    assert np.allclose(shown.weights[0] @ trace.output.numpy(), vector.numpy(), atol=1e-5)
    found = collection(minilm, ["a b"], states=[6], queries={6: trained.query})
    assert "attention" in found.methods


def test_faults_are_plain(minilm, monkeypatch):
    pairs = [Item("a", "x"), Item("b", "x"), Item("c", "y"), Item("d", "y")]
    refused(InputError, "at least 2 labels; these have 1", attention_pooling, minilm, pairs[:2])
    refused(InputError, "'y' appears once", attention_pooling, minilm, pairs[:3])
    refused(InputError, "seeds is empty", attention_pooling, minilm, pairs, seeds=())
    refused(SelectionError, "no state 9", attention_pooling, minilm, pairs, state=9)
    told = []
    with pytest.raises(TraceError, match="Stopped after 3 of 6 steps"):
        attention_pooling(
            minilm, pairs, seeds=[0], steps=2,
            progress=lambda *at: told.append(at) or at[0] < 3,
        )  # fmt: skip
    assert told == [(0, 6), (1, 6), (2, 6), (3, 6)]  # within the second of three trainings
    monkeypatch.setattr(module, "MAX_NUMBERS", 1000)
    refused(TooLong, "fewer or shorter", attention_pooling, minilm, pairs)
