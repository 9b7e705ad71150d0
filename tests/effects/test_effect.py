"""Heads taken out, against W_O's columns zeroed in a copy, and against plain matrices."""

import copy

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.effects.plain import plain_forward
from tests.refusals import refused
from viz_encoder import effects
from viz_encoder.effects import rerun
from viz_encoder.errors import SelectionError

SENTENCE = "the keys to the cabinet [MASK] old"
TEXTS = ["The animal didn't cross the street", "Two loans were approved by the old bank today"]
NEAR = 2e-5


def zeroed(encoder, layer, head):
    """The same model with W_O's columns of one head at zero."""
    model, d_head = copy.deepcopy(encoder.model), encoder.config.d_head
    model.layers[layer].attn.o.weight.data[:, head * d_head : (head + 1) * d_head] = 0
    return model


def run(model, encoder, text):
    inputs = encoder.read(text)
    with torch.no_grad():
        return model(inputs.values, None, inputs.segments).output


def logits(model, encoder, text):
    inputs = encoder.read(text)
    at = inputs.samples[0].tokens.index("[MASK]")
    with torch.no_grad():
        return model.heads["masked"](run(model, encoder, text))[0, at].double()


def word(encoder, name):
    return encoder.reader.tokenizer.token_to_id(name)


def cosine_distance(a, b):
    return float(1 - torch.nn.functional.cosine_similarity(a.double(), b.double(), dim=-1))


def heads_of(encoder):
    config = encoder.config
    return [(layer, head) for layer in range(config.n_layers) for head in range(config.n_heads)]


def test_logits_are_those_of_a_model_without_the_columns(grammar):
    found = vz.effect(grammar, SENTENCE, answer="are", other="is")
    pair = word(grammar, "are"), word(grammar, "is")
    plain = logits(grammar.model, grammar, SENTENCE)
    assert found.before[0] == pytest.approx(float(plain[pair[0]] - plain[pair[1]]), rel=NEAR)
    for layer, head in heads_of(grammar):
        expected = logits(zeroed(grammar, layer, head), grammar, SENTENCE)
        after = found.before[0] + found.values[0, layer, head]
        assert abs(after - float(expected[pair[0]] - expected[pair[1]])) <= NEAR * 20
        best = int(expected.argmax())
        assert found.answers[0, layer, head] == grammar.reader.tokenizer.id_to_token(best)
        assert found.shares[0, layer, head] == pytest.approx(
            float(expected.softmax(0)[best]), abs=NEAR
        )


def test_removing_3_0_flips_the_verb_and_removing_heads_that_look_at_keys_does_not(grammar):
    found = vz.effect(grammar, SENTENCE)
    assert found.untouched[0][0] == "are" and round(found.untouched[0][1], 3) == 0.995
    assert found.answers[0, 3, 0] == "is" and round(float(found.shares[0, 3, 0]), 3) == 0.687
    assert found.ranked(1) == ((3, 0),)
    trace = vz.capture(grammar, SENTENCE)
    mask, keys = trace.tokens.index("[MASK]"), trace.tokens.index("keys")
    for layer, head in ((2, 0), (3, 3)):
        assert float(trace.attention(layer, head)[mask, keys]) > 0.8
        assert found.answers[0, layer, head] == "are"


@pytest.mark.parametrize("method", ["cls", "declared"])
def test_pooled_vectors_are_those_of_a_model_without_the_columns(minilm, method):
    heads = [(0, 3), (2, 7), (5, 11)]
    found = vz.effect(minilm, TEXTS, heads, pooling=method)
    for number, text in enumerate(TEXTS):
        valid = minilm.read(text).valid
        vectors = [
            vz.pool(run(model, minilm, text), valid, method, encoder=minilm)[0]
            for model in (minilm.model, *(zeroed(minilm, *head) for head in heads))
        ]
        for (layer, head), vector in zip(heads, vectors[1:], strict=True):
            expected = cosine_distance(vector, vectors[0])
            assert found.values[number, layer, head] == pytest.approx(expected, abs=NEAR)
    asked = np.zeros(found.values.shape[1:], dtype=bool)
    asked[tuple(zip(*heads, strict=True))] = True
    assert (np.isfinite(found.values) == asked).all()
    assert method in found.measures[0]


def test_states_are_those_of_a_model_without_the_columns(minilm):
    text = TEXTS[0]
    one = vz.effect(minilm, text, [(4, 2)], measure="state", at=2)
    all_tokens = vz.effect(minilm, text, [(4, 2)], measure="state")
    before, after = run(minilm.model, minilm, text)[0], run(zeroed(minilm, 4, 2), minilm, text)[0]
    each = [cosine_distance(a, b) for a, b in zip(after, before, strict=True)]
    assert one.values[0, 4, 2] == pytest.approx(each[2], abs=1e-7, rel=1e-3)
    assert all_tokens.values[0, 4, 2] == pytest.approx(np.mean(each), abs=1e-7, rel=1e-3)


def test_a_reference_is_the_mean_of_what_the_head_says_over_that_set(grammar):
    """By a second way: what reaches W_O, from attention weights times values."""
    texts = ["the key is old", "the cats near the dog run", "copy : a b = a b"]
    layer, head, said = 2, 1, []
    for text in texts:
        trace = vz.capture(grammar, text)
        said.append(trace.attention(layer, head) @ trace.layers[layer].v[head])
    mean = torch.cat(said).mean(dim=0)
    inputs = grammar.read(SENTENCE)

    def put(_, args):
        merged = args[0].clone()
        merged[..., head * 16 : (head + 1) * 16] = mean
        return (merged,)

    model = copy.deepcopy(grammar.model)
    model.layers[layer].attn.o.register_forward_pre_hook(put)
    at = inputs.samples[0].tokens.index("[MASK]")
    with torch.no_grad():
        expected = model.heads["masked"](model(inputs.values).output)[0, at].double()
    found = vz.effect(
        grammar,
        SENTENCE,
        [(layer, head)],
        how="mean",
        reference=texts,
        answer="are",
        other="is",
    )
    difference = float(expected[word(grammar, "are")] - expected[word(grammar, "is")])
    assert found.before[0] + found.values[0, layer, head] == pytest.approx(
        difference, abs=20 * NEAR
    )
    assert found.how == f"its mean over 3 texts ({len(torch.cat(said))} tokens)"


@pytest.mark.parametrize("gone", [[(3, 0)], [(0, 1), (2, 3)], [(1, 2), (1, 3), (3, 0)]])
def test_heads_removed_together_are_those_of_plain_matrices(grammar, gone):
    inputs = grammar.read(SENTENCE)
    expected = torch.from_numpy(plain_forward(grammar.model, inputs.values, gone)).float()
    at = inputs.samples[0].tokens.index("[MASK]")
    with torch.no_grad():
        scores = grammar.model.heads["masked"](expected[None])[0, at].double()
    change, answer = effects.joint(grammar, SENTENCE, gone, answer="are", other="is")
    before = vz.effect(grammar, SENTENCE, [(0, 0)], answer="are", other="is").before[0]
    difference = float(scores[word(grammar, "are")] - scores[word(grammar, "is")])
    assert before + change == pytest.approx(difference, abs=20 * NEAR)
    assert answer == grammar.reader.tokenizer.id_to_token(int(scores.argmax()))


def test_a_classifier_of_pictures_is_measured_by_its_logits(scene):
    picture = torch.rand(scene.config.n_channels, *scene.config.image_size)
    found = vz.effect(scene, picture, [(1, 0)])
    model = zeroed(scene, 1, 0)
    with torch.no_grad():
        before, after = (
            m.heads["classify"](m(picture[None]).output)[0].double() for m in (scene.model, model)
        )
    first, second = before.topk(2).indices.tolist()
    expected = (after[first] - after[second]) - (before[first] - before[second])
    assert found.values[0, 1, 0] == pytest.approx(float(expected), abs=20 * NEAR)


def test_batches_of_any_size_give_the_same(grammar, monkeypatch):
    whole = vz.effect(grammar, SENTENCE)
    monkeypatch.setattr(rerun, "BATCH_TOKENS", 1)
    single = vz.effect(grammar, SENTENCE)
    assert np.abs(single.values - whole.values).max() <= NEAR * np.abs(whole.values).max()


def test_spread_and_mean_are_over_the_texts(minilm):
    found = vz.effect(minilm, TEXTS, [(1, 1)])
    alone = [vz.effect(minilm, text, [(1, 1)]).values[0, 1, 1] for text in TEXTS]
    assert found.mean[1, 1] == pytest.approx(np.mean(alone))
    assert found.spread[1, 1] == pytest.approx(np.std(alone, ddof=1))
    assert np.isnan(vz.effect(minilm, TEXTS[0], [(1, 1)]).spread[1, 1])


def test_the_table_has_a_line_for_each_head(grammar):
    found = vz.effect(grammar, [SENTENCE, "the dog [MASK] small"], answer=["are", "is"])
    table = found.columns()
    line = next(
        i
        for i, place in enumerate(zip(table["text"], table["layer"], table["head"], strict=True))
        if place == (1, 3, 0)
    )
    assert table["effect"][line] == found.values[1, 3, 0]
    assert table["after"][line] == found.before[1] + found.values[1, 3, 0]
    assert table["answer"][line] == found.answers[1, 3, 0]
    assert np.array_equal(np.asarray(found), found.values, equal_nan=True)


def test_progress_comes_to_its_end_and_can_stop_the_work(grammar):
    shares = []
    vz.effect(grammar, [SENTENCE, SENTENCE], progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0

    class Stopped(Exception):
        pass

    def stop(_):
        raise Stopped

    with pytest.raises(Stopped):
        vz.effect(grammar, SENTENCE, progress=stop)


def test_a_model_in_training_is_measured_at_rest_and_left_in_training():
    encoder = vz.load(vz.EncoderConfig(n_layers=2, n_heads=2, d_model=16, d_ff=32, vocab_size=20))
    ids = torch.tensor([[3, 4, 5, 6]])
    still = vz.effect(encoder, ids)
    encoder.model.train()
    moving = vz.effect(encoder, ids)
    assert encoder.model.training
    assert np.array_equal(still.values, moving.values)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"heads": [(9, 0)]}, "no layer 9"),
        ({"heads": [(0, 4)]}, "no head 4"),
        ({"heads": []}, "No head"),
        ({"heads": "most"}, "'most'"),
        ({"heads": [3]}, r"heads is \(3\); it must be \"all\", or pairs"),
        ({"how": "median"}, "'median'"),
        ({"how": "mean"}, "needs a set"),
        ({"reference": ["a"]}, "used only with"),
        ({"measure": "weight"}, "measure is 'weight'; it must be 'pooled', 'logit'"),
        ({"measure": "logit"}, "classify"),
        ({"answer": "keyses"}, "'keyses' is not a single token"),
        ({"answer": "are", "other": "are"}, "both"),
        ({"answer": ["are", "is"]}, "2 answers and 1 texts"),
        ({"measure": "state", "at": 99}, "no token 99"),
        ({"measure": "pooled", "answer": "are"}, "does not use answer="),
        ({"measure": "pooled", "at": 3}, "does not use at="),
        ({"pooling": "cls"}, "does not use pooling="),
        ({"measure": "state", "at": 1.0}, "at is 1.0"),
        ({"measure": "state", "at": True}, "at is True"),
        ({"answer": 3}, "answer is 3"),
        ({"other": ["is", "are"]}, "2 answers and 1 texts"),
    ],
)
def test_what_cannot_be_is_said(grammar, given, said):
    refused(vz.VizEncoderError, said, vz.effect, grammar, SENTENCE, **given)


def test_a_text_without_a_mask_has_no_masked_logits(grammar):
    with pytest.raises(vz.VizEncoderError, match=r"no \[MASK\]"):
        vz.effect(grammar, "the keys are old", measure="masked")
    assert "pooled vector" in vz.effect(grammar, "the keys are old", [(0, 0)]).measures[0]


def test_another_kind_of_model_is_sent_to_knock():
    refused(vz.VizEncoderError, r"vz\.ablate", lambda: vz.effect(torch.nn.Linear(2, 2), "a"))


def test_texts_of_different_measures_have_no_mean(grammar):
    with pytest.raises(vz.VizEncoderError, match="which cannot be averaged") as told:
        vz.effect(grammar, [SENTENCE, "the keys are old"], [(3, 0)])
    assert str(told.value).startswith(
        "Text 1, “the keys are old”: it would be measured by 'pooled'"
    )
    both = vz.effect(grammar, [SENTENCE, "the keys are old"], [(3, 0)], measure="pooled")
    assert both.measures[0] == both.measures[1]


def test_a_fault_names_the_text_that_it_is_of(grammar):
    texts = [SENTENCE, "the keys are old", SENTENCE]
    with pytest.raises(SelectionError) as told:
        vz.effect(grammar, texts, [(3, 0)], measure="masked", names=["line 1", "line 4", "line 5"])
    with pytest.raises(SelectionError) as alone:
        vz.effect(grammar, texts[1], [(3, 0)], measure="masked")
    assert str(told.value) == f"Line 4, “the keys are old”: {alone.value}"
    with pytest.raises(SelectionError, match=r"^Text 1, “the keys are old”: "):
        vz.effect(grammar, texts, [(3, 0)], measure="masked")


def test_the_sentence_says_how_many_heads_were_tried(grammar):
    whole = vz.effect(grammar, SENTENCE).sentence
    assert whole.endswith("the largest effect of all heads.")
    two = vz.effect(grammar, SENTENCE, [(3, 0), (0, 3)]).sentence
    assert two.endswith("the largest effect of 2 heads tried.")
    one = vz.effect(grammar, SENTENCE, [(0, 3)])
    assert one.sentence.startswith("Removing head 0.3 keeps “are” (0.995 → ")
    assert one.sentence.endswith("the only head tried.")


def test_a_model_whose_output_is_no_number_is_refused(grammar):
    broken = vz.load(copy.deepcopy(grammar.model))
    broken.model.layers[0].ff.up.weight.data[0, 0] = torch.nan
    ids = grammar.read(SENTENCE).values
    refused(vz.VizEncoderError, "not a number", vz.effect, broken, ids, measure="pooled")
