"""Alignment of two runs' tokens: against a plain table, by tokens and by words."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import viz_encoder as vz
from tests.ui.texts import PICTURES
from viz_encoder.bundled import asset
from viz_encoder.errors import TooLong
from viz_encoder.inputs import Sample
from viz_encoder.trace import alignment
from viz_encoder.trace.alignment import align, common_subsequence
from viz_encoder.trace.layer import Origin

letters = st.text("abc", max_size=24)
START = "The animal didn't cross the street because it was too "


def by_table(one, other):
    """The length of a longest common subsequence, cell by cell."""
    table = np.zeros((len(one) + 1, len(other) + 1), int)
    for i, a in enumerate(one, 1):
        for j, b in enumerate(other, 1):
            table[i, j] = (
                table[i - 1, j - 1] + 1 if a == b else max(table[i - 1, j], table[i, j - 1])
            )
    return int(table[-1, -1])


def rises(pairs):
    return all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))


@given(letters, letters)
def test_it_is_common_rising_and_as_long_as_the_table_says(one, other):
    pairs = common_subsequence(one, other)
    assert len(pairs) == by_table(one, other) and rises(pairs)
    assert all(one[a] == other[b] for a, b in pairs)


def test_two_long_texts_without_anything_in_common_are_refused(monkeypatch):
    monkeypatch.setattr(alignment, "MAX_BITS", 11)
    assert common_subsequence("xabcy", "xdefy") == [(0, 0), (4, 4)]  # what is equal costs nothing
    with pytest.raises(TooLong, match="differ in 3 and 4 tokens"):
        common_subsequence("xabcy", "xdefgy")


@pytest.fixture(scope="module")
def tired(minilm):
    return vz.capture(minilm, START + "tired")


def test_all_common_tokens_are_aligned_where_lengths_differ(minilm, tired):
    longer = vz.capture(minilm, START + "really exhausted")
    found = align(longer, tired)
    assert found.pairs == (*((at, at) for at in range(13)), (15, 14)) and found.by == "tokens"
    assert [longer.tokens[at] for at in found.only_here] == ["really", "exhausted"]
    assert [tired.tokens[at] for at in found.only_there] == ["tired"]


def test_a_mask_token_stands_for_what_is_in_its_place(grammar):
    text = "the keys to the cabinet [MASK] old"
    whole = vz.capture(grammar, text)
    n = whole.n_tokens
    for codes in (["m2"], ["m2", "m5"]):
        masked = vz.effects.changed(grammar, text, codes)
        assert align(masked, whole).pairs == tuple((at, at) for at in range(n))
        assert align(whole, masked).only_here == ()
    other = vz.capture(grammar, "the keys to the cabinet [MASK] red")  # differs in a word as well
    found = align(vz.effects.changed(grammar, text, ["m2"]), other)
    assert (2, 2) not in found.pairs
    shorter = vz.capture(grammar, "keys to the cabinet [MASK] old")
    assert align(shorter, vz.effects.changed(grammar, text, ["m2"])).only_here == (1,)


def test_padding_is_of_no_side(minilm, tired):
    padded = vz.capture(minilm, [START + "tired", START + "tired, as it had run all day"])[0]
    assert padded.n_tokens > int(padded.valid.sum()) == tired.n_tokens
    for pair in ((padded, tired), (tired, padded)):
        found = align(*pair)
        assert found.pairs == tuple((at, at) for at in range(tired.n_tokens))
        assert not found.only_here and not found.only_there


def read_by(model, text, tokens, special):
    """A run of one text as another tokenizer would have cut it; `tokens` as they stand in it."""
    spans, start = [], 0
    for token, added in zip(tokens, special, strict=True):
        bare = token.strip("▁ ")
        start = start if added else text.index(bare, start) - token.startswith(" ")
        spans.append((0, 0) if added else (start, start + len(token.replace("▁", ""))))
        start = spans[-1][1] or start
    sample = Sample(tokens, special, spans=tuple(spans), texts=(text,))
    n = len(tokens)
    layer = vz.capture(vz.load("grammar", device="cpu"), "the keys").layers[0]
    empty = torch.zeros(1, n, 4)
    layers = (replace(layer, q=empty, k=empty, v=empty, mask=None, signature=None),)
    return vz.Trace(
        layers, (), torch.zeros(n, 4), torch.ones(n, dtype=torch.bool), sample, Origin(model)
    )


def test_other_tokenizers_are_aligned_by_words(minilm):
    here = vz.capture(minilm, "The animal was unhappily tired.")
    tokens = ("<s>", "▁The", " animal", "▁is", "▁unhapp", "ily", "▁tired", ".", "</s>")
    special = (True, *[False] * 7, True)
    there = read_by("other", "The animal is unhappily tired.", tokens, special)
    found = align(here, there)
    named = [(here.tokens[a], tokens[b]) for a, b in found.pairs]
    assert found.by == "words" and named == [
        ("[CLS]", "<s>"),
        ("the", "▁The"),
        ("animal", " animal"),
        ("##ily", "ily"),  # the same characters of the same word
        ("tired", "▁tired"),
        (".", "."),
        ("[SEP]", "</s>"),
    ]
    assert "was" in [here.tokens[at] for at in found.only_here]
    assert [tokens[at] for at in found.only_there] == ["▁is", "▁unhapp"]
    back = align(there, here)
    assert back.pairs == tuple((b, a) for a, b in found.pairs)


def test_words_of_a_second_text_are_found_behind_the_first(minilm):
    texts = ("A dog barked.", "The dog slept.")
    here = vz.capture(minilm, texts)
    tokens = ("<s>", "A", " dog", " barked", ".", "</s>", "The", " dog", " slept", ".", "</s>")
    there = read_by("other", " ".join(texts), tokens, tuple(name[0] == "<" for name in tokens))
    spans = list(there.sample.spans)
    spans[6:10] = [(start - 14, stop - 14) for start, stop in spans[6:10]]  # as text B has them
    sample = replace(there.sample, texts=texts, spans=tuple(spans), segments=(0,) * 6 + (1,) * 5)
    found = align(here, replace(there, sample=sample))
    assert found.by == "words"
    assert found.pairs == tuple((at, at) for at in range(11) if at != 5)  # not what is between


def test_one_tokenizer_of_two_models_aligns_by_tokens(minilm, tired):
    other = replace(tired, origin=replace(tired.origin, model="another"))
    found = align(tired, other)
    assert found.by == "tokens" and len(found.pairs) == tired.n_tokens


def test_patches_are_aligned_only_where_pictures_were_cut_up_alike():
    scene = vz.load("scene", device="cpu")
    wide, digit = (vz.capture(scene, asset(PICTURES[name])) for name in ("a wide scene", "a digit"))
    assert len(align(wide, wide).pairs) == wide.n_tokens
    assert wide.grid != digit.grid and "r0c0" in wide.tokens and "r0c0" in digit.tokens
    found, n_prefix = align(wide, digit), wide.grid.n_prefix
    assert found.pairs == tuple((at, at) for at in range(n_prefix)) and n_prefix > 0
    assert len(found.only_here) == wide.n_tokens - n_prefix
