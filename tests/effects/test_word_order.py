"""Two words swapped, with positions and without: against numpy in double precision."""

import numpy as np
import pytest

import viz_encoder as vz
from tests.lesson.by_hand import Run
from viz_encoder.bundled import asset
from viz_encoder.effects.word_order import word_order
from viz_encoder.errors import SelectionError
from viz_encoder.ui.state.examples import PICTURES

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


def test_what_cannot_be_swapped_is_said(grammar):
    with pytest.raises(SelectionError, match="takes two different words"):
        word_order(grammar, grammar.read("the the"))
    scene = vz.load("scene", device="cpu")
    with pytest.raises(SelectionError, match="no token ids"):
        word_order(scene, scene.read(asset(PICTURES["a wide scene"])))
