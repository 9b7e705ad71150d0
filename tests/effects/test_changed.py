"""Runs with something taken away or swapped: against ablate, masks, rewritten texts, and numpy."""

from copy import deepcopy

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.lesson.by_hand import Run
from viz_encoder import effects
from viz_encoder.bundled import asset
from viz_encoder.effects.change import Change, changes_of
from viz_encoder.effects.changed_capture import capture_changed, rewritten
from viz_encoder.effects.outcome import outcome
from viz_encoder.effects.word_order import word_order
from viz_encoder.errors import SelectionError
from viz_encoder.ui.state.examples import PICTURES

SENTENCE = "the keys to the cabinet [MASK] old"
MASK, KEYS = 6, 2


@pytest.fixture(scope="module")
def plain(grammar):
    return vz.capture(grammar, SENTENCE)


def test_a_removed_head_equals_w_o_with_its_columns_zeroed(grammar, plain):
    trace = effects.changed(grammar, SENTENCE, ["h3.0", "h1.2"])
    other = deepcopy(grammar)
    width = grammar.config.d_head
    for layer, head in ((3, 0), (1, 2)):
        weight = other.model.layers[layer].attn.o.weight
        with torch.no_grad():
            weight[:, head * width : (head + 1) * width] = 0
    expected = vz.capture(other, SENTENCE)
    assert torch.equal(trace.output, expected.output)
    assert not torch.allclose(trace.output, plain.output, atol=1e-3)
    for layer in range(4):
        assert torch.equal(trace.attention(layer), expected.attention(layer))
    assert torch.equal(trace.attention(1), plain.attention(1))  # what it removes still has its map
    assert trace.proof.passed
    assert any("Head 3.0 was removed" in note for note in trace.notes)


def test_a_cut_link_is_zero_in_its_head_alone(grammar, plain):
    trace = effects.changed(grammar, SENTENCE, [f"l2.1:{MASK}-{KEYS}"])
    was, now = plain.attention(2), trace.attention(2)
    assert now[1, MASK, KEYS] == 0
    assert float(now[1, MASK].sum()) == pytest.approx(1, abs=1e-6)
    rest = was[1, MASK].clone()
    rest[KEYS] = 0
    torch.testing.assert_close(now[1, MASK], rest / rest.sum(), atol=2e-6, rtol=0)
    others = torch.ones_like(was, dtype=torch.bool)
    others[1, MASK] = False
    torch.testing.assert_close(now[others], was[others], atol=2e-6, rtol=0)
    assert trace.proof.passed


@pytest.mark.parametrize(
    ("code", "places"),
    [(f"l3:{MASK}-{KEYS}", [3]), (f"l:{MASK}-{KEYS}", [0, 1, 2, 3])],
)
def test_a_link_is_cut_in_a_layer_or_in_all(grammar, plain, code, places):
    trace = effects.changed(grammar, SENTENCE, [code])
    for layer in range(4):
        cut = trace.attention(layer)[:, MASK, KEYS]
        assert bool((cut == 0).all()) == (layer in places)


def test_a_hidden_token_equals_the_mask_that_hides_it(grammar):
    mask = torch.ones(9, 9, dtype=torch.bool)
    mask[:, KEYS] = False
    expected = vz.capture(grammar, SENTENCE, mask=mask)
    trace = effects.changed(grammar, SENTENCE, [f"t{KEYS}"])
    torch.testing.assert_close(trace.output, expected.output, atol=2e-6, rtol=0)
    assert all(bool((trace.attention(layer)[..., KEYS] == 0).all()) for layer in range(4))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("m2", "the [MASK] to the cabinet [MASK] old"),
        ("d2", "the to the cabinet [MASK] old"),
        ("r2:key", "the key to the cabinet [MASK] old"),
        ("r6:are", "the keys to the cabinet are old"),
    ],
)
def test_a_changed_word_equals_the_text_that_somebody_types(grammar, code, text):
    trace, expected = effects.changed(grammar, SENTENCE, [code]), vz.capture(grammar, text)
    assert trace.tokens == expected.tokens
    assert torch.equal(trace.output, expected.output)


def test_a_word_of_several_tokens_goes_as_a_whole():
    minilm = vz.load("all-MiniLM-L6-v2")
    text = "a supercalifragilistic day, isn't it"
    places = [at for at, word in enumerate(vz.capture(minilm, text).sample.words) if word == 1]
    assert len(places) > 2
    for at in places:
        trace = effects.changed(minilm, text, [f"d{at}"])
        assert torch.equal(trace.output, vz.capture(minilm, "a day, isn't it").output)
    both = effects.changed(minilm, text, ["d1", f"r{places[0]}:fine"])
    assert both.sample.texts == ("fine day, isn't it",)


def test_words_of_a_pair_change_in_their_own_text():
    minilm = vz.load("all-MiniLM-L6-v2")
    pair = ("who wrote it?", "my sister wrote it")
    sample = vz.capture(minilm, pair).sample
    at = sample.tokens.index("wrote", sample.second_text)
    made = changes_of([f"r{at}:read"], sample, 6, 12)
    assert rewritten(sample, made) == ("who wrote it?", "my sister read it")
    trace = effects.changed(minilm, pair, [f"r{at}:read"])
    assert torch.equal(
        trace.output, vz.capture(minilm, ("who wrote it?", "my sister read it")).output
    )


def test_changes_go_together(grammar):
    mask = torch.ones(9, 9, dtype=torch.bool)
    mask[:, 5] = False
    with vz.ablate(grammar.model, {(3, 0): "zero"}):
        expected = vz.capture(grammar, "the [MASK] to the cabinet [MASK] old", mask=mask)
    trace = effects.changed(grammar, SENTENCE, ["h3.0", "t5", "m2"])
    torch.testing.assert_close(trace.output, expected.output, atol=2e-6, rtol=0)


def test_the_model_is_as_it_was(grammar, plain):
    effects.changed(grammar, SENTENCE, ["h3.0", "t5", "m2", "l2.1:6-2"])
    assert torch.equal(vz.capture(grammar, SENTENCE).output, plain.output)


CODES = ("h3.0", "l3.0:6-2", "l3:6-2", "l:6-2", "t2", "m2", "d5", "r3:near")


def test_a_code_is_what_it_was_read_from(plain):
    made = changes_of((*CODES, "h3.0"), plain.sample, 4, 4)
    assert tuple(change.code for change in made) == CODES
    odd = Change("r", key=2, word="a, b: “c”")
    assert changes_of([odd.code], plain.sample, 4, 4) == [odd]
    assert "," not in odd.code
    as_browsers_write_it = "r2:don't%20(a%2Fb)!*~"
    assert Change("r", key=2, word="don't (a/b)!*~").code == as_browsers_write_it


def test_a_change_says_what_was_done(plain):
    made = changes_of(CODES, plain.sample, 4, 4)
    said = [change.words(plain.tokens) for change in made]
    link = "“[MASK]” → “keys” cut in"
    assert said == [
        *("head 3.0 removed", f"{link} 3.0", f"{link} layer 3", f"{link} all heads"),
        *("“keys” hidden from all", "“keys” masked"),
        *("“cabinet” deleted", "“to” replaced with “near”"),
    ]
    orders = ["remove head 3.0", "cut “[MASK]” → “keys” in layer 3", "replace “to” with “near”"]
    assert [made[at].command(plain.tokens) for at in (0, 2, -1)] == orders


@pytest.mark.parametrize(
    ("codes", "says"),
    [
        (["x"], "'x' is not a change; write h3.0"),
        ([3], "codes holds 3; each must be a text"),
        (["h4.0"], "There is no layer 4; choose 0 to 3."),
        (["h3.9"], "There is no head 9; choose 0 to 3."),
        (["t9"], "There is no token 9; choose 0 to 8."),
        (["l3.0:2-9"], "There is no token 9"),
        (["m0"], "is not a word of the text and cannot be masked"),
        (["d8"], "cannot be deleted"),
        (["r2:%20"], "The new word has 0 characters"),
        (["r2:" + "x" * 81], "The new word has 81 characters"),
        (
            [f"t{at}" for at in range(9)] * 2
            + [f"l{a}.{b}:1-2" for a in range(4) for b in range(4)]
            + [f"l:{q}-1" for q in range(9)]
            + [f"l:{q}-2" for q in range(9)],
            "at most 40",
        ),
        (["d2", "t3"], "so no token of the old text can be hidden"),
        (["d1", "d2", "d3", "d4", "d5", "d6", "d7"], "Nothing would be left of the text"),
        (["d1", "r1:a"], "d1 and r1:a change the same word"),
        (["r2:\ud800"], "holds characters that no text has"),
        (["t٢"], "is not a change"),
    ],
)
def test_what_cannot_be_done_is_said(grammar, codes, says):
    with pytest.raises(SelectionError, match=says.replace("[", r"\[")):
        effects.changed(grammar, SENTENCE, codes)


def test_a_patch_of_a_picture_is_hidden_and_not_masked(scene):
    picture = asset("examples/digit.png")
    trace = vz.capture(scene, picture)
    at = trace.grid.n_prefix + 3
    away = effects.changed(scene, picture, [f"t{at}"])
    assert all(bool((away.attention(layer)[..., at] == 0).all()) for layer in range(4))
    with pytest.raises(SelectionError, match="A picture's patches cannot be masked"):
        effects.changed(scene, picture, [f"m{at}"])


TWO = "the [MASK] to the cabinet [MASK] old"


@pytest.mark.parametrize(
    ("text", "code", "same", "at"),
    [
        (TWO, "d5", "the [MASK] to the [MASK] old", 2),
        (TWO, "r1:that", "that [MASK] to the cabinet [MASK] old", 2),
        (SENTENCE, "r2:%5BMASK%5D", TWO, 6),
        (SENTENCE, "d1", "keys to the cabinet [MASK] old", 5),
    ],
)
def test_before_and_after_are_read_at_the_same_mask(grammar, text, code, same, at):
    inputs = grammar.read(text)
    made = changes_of([code], inputs.samples[0], 4, 4)
    found = outcome(grammar, inputs, capture_changed(grammar, inputs, made), made)
    guesses = vz.analyses.predictions(grammar, vz.capture(grammar, same))
    now = next(guess for guess in guesses if guess.token == at)
    assert found.labels[int(np.argmax(found.shares[1]))] == now.labels[0]
    assert max(found.shares[1]) == pytest.approx(float(now.shares[0]), rel=2e-5)


@pytest.mark.parametrize(("code", "word"), [("d6", ""), ("r6:are", "are ")])
def test_without_the_mask_the_vectors_alone_are_compared(grammar, code, word):
    inputs = grammar.read(SENTENCE)
    made = changes_of([code], inputs.samples[0], 4, 4)
    found = outcome(grammar, inputs, capture_changed(grammar, inputs, made), made)
    one, two = (
        vz.pool(each.output, each.valid, "mean").double()
        for each in (
            vz.capture(grammar, SENTENCE),
            vz.capture(grammar, SENTENCE.replace("[MASK] ", word)),
        )
    )
    cosine = float(one @ two / one.norm() / two.norm())
    assert found.cosine == pytest.approx(cosine, abs=1e-6)
    assert found.before == 0 and found.after == pytest.approx(1 - cosine, abs=1e-6)
    assert found.labels == () and not found.flips and "pooled vector" in found.measure
    assert f"there is no answer left to read; the pooled vector changes by {1 - cosine:.3g}" in (
        found.sentence
    )


TEXT, SWAPPED = "the cat sees the dog", "the dog sees the cat"
ORDER = [0, 1, 5, 3, 4, 2, 6]


def lengths(x):
    return np.linalg.norm(x, axis=-1)


def test_the_outputs_of_a_swap_are_those_of_numpy(grammar):
    found = word_order(grammar, grammar.read(TEXT), 2, 5)
    assert (found.one, found.two) == (2, 5)
    for row, positions in enumerate((True, False)):
        before = Run(TEXT, positions=positions).output
        after = Run(SWAPPED, positions=positions).output[ORDER]
        for made, expected in zip(found.vectors[row], (before, after), strict=True):
            assert np.abs(made - expected).max() < 5e-6 * np.abs(expected).max()
        share = (lengths(after - before) / lengths(before)).mean()
        assert found.apart[row] == pytest.approx(share, abs=1e-6)
    assert found.apart[0] > 0.05 and found.apart[1] < 1e-6


def test_padding_does_not_count(minilm):
    inputs = minilm.read(["dog bit man", "a much longer text than the other one"])
    short = word_order(minilm, minilm.read("dog bit man"), 1, 3)
    padded = type(inputs)(inputs.values[:1], inputs.valid[:1], inputs.samples[:1], padded=True)
    assert not padded.valid.all()
    assert word_order(minilm, padded, 1, 3).apart == pytest.approx(short.apart, abs=1e-5)


@pytest.mark.parametrize(
    ("pair", "used"), [((0, 5), (1, 2)), ((1, 4), (1, 2)), ((4, 4), (4, 2)), ((None, None), (1, 2))]
)
def test_what_is_no_pair_of_different_words_gives_way_to_one(grammar, pair, used):
    found = word_order(grammar, grammar.read(TEXT), *pair)
    assert (found.one, found.two) == used


def test_what_cannot_be_swapped_is_said(grammar, scene):
    with pytest.raises(SelectionError, match="takes two different words"):
        word_order(grammar, grammar.read("the the"))
    with pytest.raises(SelectionError, match="no token ids"):
        word_order(scene, scene.read(asset(PICTURES["a wide scene"])))
