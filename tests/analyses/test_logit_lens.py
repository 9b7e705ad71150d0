"""The logit lens against transformers' own heads, read off transformers' own hidden states."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.checkpoints.cases.bert import build as bert
from tests.checkpoints.cases.modernbert import build as modernbert
from tests.checkpoints.parity import TOLERANCE, WORDS, Case, save, texts
from tests.refusals import refused
from viz_encoder.analyses.predictions import logit_lens, predictions
from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError

module = import_module("viz_encoder.analyses.predictions")

LENGTHS = (4, 7, 1)


def made(folder, model_type, model):
    reference = save(Case("x", model_type, model, None), folder)
    return vz.load(folder, device="cpu"), reference


def check(found, shares, finals, tokens):
    """A table against the reference's probabilities "state token label"."""
    best = shares.topk(found.shares.shape[-1])
    assert found.tokens.tolist() == tokens and found.unit == "probability"
    assert np.abs(found.shares - best.values.numpy()).max() <= TOLERANCE
    assert np.abs(found.finals - finals.numpy()).max() <= TOLERANCE
    sure = best.values[..., 0] - best.values[..., 1] > 1e-4
    assert sure.float().mean() > 0.9
    assert np.array_equal(found.numbers[..., 0][sure], best.indices[..., 0][sure])


@pytest.mark.parametrize("block_bytes", [2**26, 400])
@pytest.mark.parametrize("sample", [0, 1, 2])
def test_a_post_norm_masked_head(tmp_path, sample, block_bytes, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", block_bytes)
    encoder, reference = made(tmp_path, "bert", bert("ForMaskedLM"))
    inputs = texts(LENGTHS)
    trace = vz.capture(encoder, inputs)[sample]
    with torch.no_grad():
        out = reference(
            inputs.values, attention_mask=inputs.valid.long(), token_type_ids=inputs.segments,
            output_hidden_states=True,
        )  # fmt: skip
        logits = torch.stack([reference.cls(state) for state in out.hidden_states])
    shares = logits[:, sample, : LENGTHS[sample]].softmax(dim=-1)
    answers = out.logits[sample, : LENGTHS[sample]].argmax(dim=-1)
    finals = shares.gather(-1, answers[None, :, None].expand(len(shares), -1, 1))[..., 0]
    found = logit_lens(encoder, trace, n=3)
    check(found, shares, finals, list(range(LENGTHS[sample])))
    assert all(WORDS[n] == w for n, w in zip(found.numbers.flat, found.labels.flat, strict=True))
    assert found.labels.shape == found.shares.shape == (4, LENGTHS[sample], 3)


def test_a_pre_norm_masked_head_is_read_through_the_final_norm(tmp_path):
    encoder, reference = made(tmp_path, "modernbert", modernbert("ForMaskedLM"))
    inputs = texts((6,), segments=False)
    (trace,) = vz.capture(encoder, inputs)
    with torch.no_grad():
        out = reference(inputs.values, output_hidden_states=True)
        norm = reference.base_model.final_norm
        states = [*map(norm, out.hidden_states[:-1]), out.hidden_states[-1]]
        shares = torch.stack([reference.decoder(reference.head(s))[0] for s in states]).softmax(-1)
    finals = shares.gather(-1, shares[-1].argmax(-1)[None, :, None].expand(4, -1, 1))[..., 0]
    check(logit_lens(encoder, trace, n=4), shares, finals, list(range(6)))


def test_padding_is_not_read_and_changes_nothing(tmp_path):
    encoder, _ = made(tmp_path, "bert", bert("ForMaskedLM"))
    long, short = vz.capture(encoder, ["w1 w2 w3 w4", "w5 w6"])
    alone = logit_lens(encoder, vz.capture(encoder, "w5 w6"))
    found = logit_lens(encoder, short)
    assert short.n_tokens == 4 and found.tokens.tolist() == [0, 1]
    assert np.abs(found.shares - alone.shares).max() <= 1e-5
    refused(SelectionError, "Token 3 is padding", logit_lens, encoder, short, tokens=[3])
    some = logit_lens(encoder, long, tokens=[2, 0], n=1)
    whole = logit_lens(encoder, long, n=1)
    assert some.tokens.tolist() == [2, 0]
    assert np.abs(some.shares - whole.shares[:, [2, 0]]).max() <= 1e-6


def test_token_labels_and_one_label_for_the_whole(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    tagger, _ = made(tmp_path / "a", "bert", bert("ForTokenClassification", num_labels=5))
    trace = vz.capture(tagger, ["w1 w2 w3", "w4"])[1]
    found = logit_lens(tagger, trace, n=9)
    assert found.shares.shape == (4, 1, 5) and found.tokens.tolist() == [0]
    assert found.shares.sum(axis=-1) == pytest.approx(1, abs=1e-5)
    judge, reference = made(tmp_path / "b", "bert", bert("ForSequenceClassification", num_labels=3))
    trace = vz.capture(judge, "w1 w2")
    found = logit_lens(judge, trace, n=3)
    with torch.no_grad():
        pooled = [reference.bert.pooler(trace.hidden(n)[None].clone()) for n in range(4)]
        shares = torch.stack([reference.classifier(each)[0] for each in pooled]).softmax(dim=-1)
    assert found.tokens.tolist() == [-1]
    assert np.abs(found.shares[:, 0] - shares.sort(descending=True).values.numpy()).max() <= 1e-5
    answer = shares[-1].argmax()
    assert np.abs(found.finals[:, 0] - shares[:, answer].numpy()).max() <= 1e-5


def test_the_last_row_is_what_the_model_predicts(grammar, scene):
    trace = vz.capture(grammar, "the keys to the cabinet [MASK] old")
    at = trace.tokens.index("[MASK]")
    found = logit_lens(grammar, trace)
    (guess,) = predictions(grammar, trace, n=5)
    assert tuple(found.labels[-1, at]) == guess.labels and guess.labels[0] == "are"
    assert np.abs(found.shares[-1, at] - guess.shares).max() <= 1e-6
    assert np.array_equal(found.finals[-1], found.shares[-1, :, 0])
    seen = logit_lens(scene, vz.capture(scene, asset("examples/digit.png")), n=1)
    assert seen.labels[-1, 0, 0] == "7" and seen.labels.shape == (5, 1, 1)


def test_what_is_not_there_is_said(minilm, grammar):
    trace = vz.capture(grammar, "the dog [MASK]")
    for options, says in (
        ({"task": "classify"}, "no prediction head 'classify'"),
        ({"tokens": [99]}, "no token 99"),
        ({"tokens": []}, "tokens is empty"),
        ({"n": 0}, "n is 0"),
    ):
        refused(SelectionError, says, logit_lens, grammar, trace, **options)
    text = vz.capture(minilm, "a dog")
    refused(SelectionError, "no prediction head", logit_lens, minilm, text)
    refused(SelectionError, "give the model that ran", logit_lens, grammar, text)
    with pytest.raises(SelectionError, match="kept no hidden states"):
        logit_lens(grammar, replace(trace, hidden_states=()))
