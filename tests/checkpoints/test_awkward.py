"""Checkpoints that are sound but awkward: untied decoders, scores, and typed padding."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import viz_encoder as vz
from tests.checkpoints.cases.bert import build
from tests.checkpoints.parity import TOLERANCE, WORDS, Case, builder, save
from viz_encoder.analyses.predictions import predictions
from viz_encoder.errors import InputError


def logits(reference, trace):
    ids = torch.tensor([[WORDS.index(token) for token in trace.tokens]])
    with torch.no_grad():
        return reference(ids).logits[0]


ROBERTA = {"max_position_embeddings": 21, "pad_token_id": 1, "type_vocab_size": 1}
roberta = builder("Roberta", **ROBERTA)


@pytest.mark.parametrize(
    "make",
    [
        build("ForMaskedLM", tie_word_embeddings=False),
        roberta("ForMaskedLM", tie_word_embeddings=False),
    ],
)
def test_a_decoder_of_its_own_with_its_own_bias(tmp_path, make):
    reference = save(Case("x", "x", make, None, pad_id=1), tmp_path)
    biases = [t for n, t in load_file(tmp_path / "model.safetensors").items() if n.endswith("bias")]
    of_words = [t for t in biases if len(t) == len(WORDS)]
    assert len(of_words) == 2 and not torch.equal(*of_words)
    encoder = vz.load(tmp_path, device="cpu")
    trace = vz.capture(encoder, "w3 w4 w5")
    with torch.inference_mode():
        got = encoder.model.heads["masked"](trace.output[None])[0]
    want = logits(reference, trace)
    assert float((got - want).abs().max() / want.abs().max()) <= TOLERANCE


def test_outputs_that_are_scores_are_not_called_probabilities(tmp_path):
    make = build("ForSequenceClassification", num_labels=3, problem_type="regression")
    reference = save(Case("x", "bert", make, None), tmp_path)
    encoder = vz.load(tmp_path, device="cpu")
    trace = vz.capture(encoder, "w3 w4")
    (guess,) = predictions(encoder, trace)
    expected = logits(reference, trace).sort(descending=True).values
    assert guess.unit == "score" and np.allclose(guess.shares, expected, atol=1e-5)


def test_typed_padding_is_refused_where_it_would_shift_positions(tmp_path):
    save(Case("x", "roberta", roberta("ForMaskedLM"), None), tmp_path)
    encoder = vz.load(tmp_path, device="cpu")
    with pytest.raises(InputError, match="which has no position"):
        vz.capture(encoder, f"w1 {WORDS[1]} w2")
