"""Predictions against transformers' own pipeline arithmetic, and the sentences they refuse with."""

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.checkpoints.cases.bert import build
from tests.checkpoints.parity import WORDS, Case, save
from tests.refusals import refused
from viz_encoder.analyses.predictions import predictions, tasks
from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError

TEXT = "w1 [MASK] w3 w4 [MASK]"


def loaded(folder, kind, **settings):
    reference = save(Case("x", "bert", build(kind, **settings), None), folder)
    return vz.load(folder, device="cpu"), reference


def logits_of(reference, trace):
    ids = torch.tensor([[WORDS.index(token) for token in trace.tokens]])
    with torch.no_grad():
        return reference(ids, output_hidden_states=True)


def test_masked_tokens(tmp_path):
    encoder, reference = loaded(tmp_path, "ForMaskedLM")
    trace = vz.capture(encoder, TEXT)
    assert trace.tokens == ("w1", "[MASK]", "w3", "w4", "[MASK]")
    out = logits_of(reference, trace)
    guesses = predictions(encoder, trace, n=10)
    assert [guess.token for guess in guesses] == [1, 4]
    for guess in guesses:
        shares = out.logits[0, guess.token].softmax(-1)
        best = shares.topk(10)
        assert guess.labels == tuple(WORDS[i] for i in best.indices)
        assert np.allclose(guess.shares, best.values, atol=1e-6) and guess.unit == "probability"


def test_a_pre_norm_model_is_read_through_its_final_norm(scene):
    trace = vz.capture(scene, asset("examples/digit.png"))
    by_output, by_last = (predictions(scene, trace, state=n)[0] for n in (None, 4))
    assert by_output.labels[0] == "7" and by_output.token is None
    assert np.allclose(by_output.shares, by_last.shares, atol=1e-6)
    assert not np.allclose(by_output.shares, predictions(scene, trace, state=0)[0].shares)


@pytest.mark.parametrize(("n", "unit"), [(3, "probability"), (1, "score")])
def test_labels_of_the_whole_input(tmp_path, n, unit):
    encoder, reference = loaded(tmp_path, "ForSequenceClassification", num_labels=n)
    trace = vz.capture(encoder, "w1 w2")
    logits = logits_of(reference, trace).logits[0]
    (guess,) = predictions(encoder, trace)
    expected = logits.softmax(-1).sort(descending=True).values if n > 1 else logits
    assert guess.unit == unit and np.allclose(guess.shares, expected, atol=1e-5)


def test_labels_that_are_each_a_yes_or_no(tmp_path):
    encoder, reference = loaded(
        tmp_path,
        "ForSequenceClassification",
        num_labels=3,
        problem_type="multi_label_classification",
    )
    trace = vz.capture(encoder, "w1 w2")
    expected = logits_of(reference, trace).logits[0].sigmoid().sort(descending=True).values
    assert np.allclose(predictions(encoder, trace)[0].shares, expected, atol=1e-6)


def test_what_cannot_be_said_is_refused(tmp_path, minilm):
    encoder, _ = loaded(tmp_path, "ForMaskedLM")
    trace = vz.capture(encoder, TEXT)
    assert tasks(minilm) == ()
    with pytest.raises(SelectionError, match="no prediction head"):
        predictions(minilm, vz.capture(minilm, "a"))
    with pytest.raises(SelectionError, match="no prediction head 'classify'; it has masked"):
        predictions(encoder, trace, task="classify")
    refused(SelectionError, "d_model 384", lambda: predictions(encoder, vz.capture(minilm, "a")))
    assert tuple(predictions(encoder, vz.capture(encoder, "w1 w2"))) == ()
