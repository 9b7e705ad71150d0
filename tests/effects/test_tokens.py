"""Tokens taken away, against plain matrices and against the text written with [MASK]."""

from itertools import combinations

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.effects.plain import plain_forward
from tests.refusals import refused
from viz_encoder import effects
from viz_encoder.effects import token_effect as module
from viz_encoder.effects import without_tokens

SENTENCE = "the keys to the cabinet [MASK] old"
NEAR = 4e-4  # of logits about 20


def said(grammar, states, at=6):
    with torch.no_grad():
        logits = grammar.model.heads["masked"](torch.as_tensor(states).float()[None])[
            0, at
        ].double()
    best = int(logits.argmax())
    name = grammar.reader.tokenizer.id_to_token
    return logits, name(best), float(logits.softmax(0)[best])


def without(grammar, away):
    ids = grammar.read(SENTENCE).values
    return said(grammar, plain_forward(grammar.model, ids, away=away))


def test_a_token_to_which_none_may_attend_is_that_of_plain_matrices(grammar):
    found = effects.tokens(grammar, SENTENCE, answer="are", other="is")
    are, is_ = (grammar.reader.tokenizer.token_to_id(word) for word in ("are", "is"))
    assert np.isnan(found.values[6]) and np.isfinite(np.delete(found.values, 6)).all()
    for place in (0, 1, 2, 3, 4, 5, 7, 8):
        logits, name, share = without(grammar, [place])
        after = found.before + found.values[place]
        assert after == pytest.approx(float(logits[are] - logits[is_]), abs=NEAR)
        assert found.answers[place] == name
        assert found.shares[place] == pytest.approx(share, abs=2e-5)


def test_the_measured_knock_outs(grammar):
    found = effects.tokens(grammar, SENTENCE)
    named = dict(
        zip(found.tokens, zip(found.answers, found.shares.round(3), strict=True), strict=True)
    )
    assert named["keys"] == ("is", pytest.approx(0.994))
    assert named["cabinet"] == ("are", pytest.approx(0.998))
    assert named["old"] == ("are", pytest.approx(0.888))
    assert named["[SEP]"] == ("are", pytest.approx(0.781))


def test_a_token_that_is_masked_is_the_text_written_so(grammar):
    found = effects.tokens(grammar, SENTENCE, how="mask")
    words = SENTENCE.split()
    assert np.isnan(found.values[[0, 6, 8]]).all()  # special tokens stay
    for place in (1, 2, 3, 4, 5, 7):
        changed = [*words[: place - 1], "[MASK]", *words[place:]]
        trace = vz.capture(grammar, " ".join(changed))
        _, name, share = said(grammar, trace.output)
        assert found.answers[place] == name
        assert found.shares[place] == pytest.approx(share, abs=2e-5)


def test_vectors_are_measured_too(minilm):
    text = "The old bank approved a loan"
    found = effects.tokens(minilm, text, measure="pooled", pooling="mean")
    plain = vz.capture(minilm, text)
    mask = torch.ones(plain.n_tokens, plain.n_tokens, dtype=torch.bool)
    mask[:, 3] = False
    cut = vz.capture(minilm, text, mask=mask)
    vectors = [vz.pool(trace.output, trace.valid, "mean").double() for trace in (plain, cut)]
    expected = 1 - float(torch.nn.functional.cosine_similarity(*vectors, dim=0))
    assert found.values[3] == pytest.approx(expected, abs=1e-6)
    assert found.columns()["answer"][3] == ""


def test_the_fewest_tokens_are_all_that_flip_alone(grammar):
    found = effects.flips(grammar, SENTENCE)
    alone = [place for place in (0, 1, 2, 3, 4, 5, 7, 8) if without(grammar, [place])[1] != "are"]
    assert {places[0] for places in found.sets} == set(alone)
    assert found.tries == 8 and found.whole
    shares = [share for _, share in found.answers]
    assert shares == sorted(shares, reverse=True)


def test_pairs_are_tried_where_no_token_flips_alone(grammar):
    text = "near the dogs the cat that the birds see [MASK] small"
    ids = grammar.read(text).values
    at = grammar.read(text).samples[0].tokens.index("[MASK]")
    places = [place for place in range(ids.shape[1]) if place != at]

    def flip(size):
        plain = said(grammar, plain_forward(grammar.model, ids), at)[1]
        return {
            away
            for away in combinations(places, size)
            if said(grammar, plain_forward(grammar.model, ids, away=away), at)[1] != plain
        }

    size = next(size for size in (1, 2, 3) if flip(size))
    found = effects.flips(grammar, text)
    assert set(found.sets) == flip(size)
    if size == 1:
        assert found.tries == len(places)


def test_the_limit_of_tries_is_said(grammar, monkeypatch):
    monkeypatch.setattr(module, "MOST_TRIES", 2)
    found = effects.flips(grammar, SENTENCE)
    assert found.tries == 2 and not found.whole


def test_the_search_tells_how_far_it_is_and_ends_where_it_is_told_to(grammar, monkeypatch):
    ran, told = [], []
    outputs = without_tokens.WithoutTokens._outputs
    monkeypatch.setattr(without_tokens, "BATCH_TOKENS", 18)  # two sets at once
    monkeypatch.setattr(
        without_tokens.WithoutTokens,
        "_outputs",
        lambda self, away: ran.append(len(away)) or outputs(self, away),
    )
    # Without an answer that flips, all pairs and threes are tried after the single tokens.
    monkeypatch.setattr(without_tokens.Logits, "said", lambda self, out: [("x", 1)] * len(out))
    effects.flips(grammar, SENTENCE, progress=told.append)
    assert len(told) == 8 + 28 + 56 and told == sorted(told) and told[-1] == 1.0
    assert told[7] == pytest.approx(1 / 3) and sum(ran) == len(told)

    def stop(share):
        if share > 0.35:  # among the pairs
            raise vz.errors.TooLong("Enough.")

    ran.clear()
    refused(vz.errors.TooLong, "Enough", effects.flips, grammar, SENTENCE, progress=stop)
    assert ran == [2] * 5


def test_sizes_that_cannot_be_and_measures_without_answers(grammar, minilm):
    refused(vz.VizEncoderError, "most is 4", effects.flips, grammar, SENTENCE, most=4)
    with pytest.raises(vz.VizEncoderError, match="no answer that could flip"):
        effects.flips(minilm, "a text", measure="pooled")
    refused(vz.VizEncoderError, "'gone'", effects.tokens, grammar, SENTENCE, how="gone")
    with pytest.raises(vz.VizEncoderError, match=r"no \[MASK\]"):
        scene = vz.load("scene")
        effects.tokens(scene, torch.rand(scene.config.n_channels, 32, 32), how="mask")
