"""The figure of effects draws what vz.effect gives, with its sign, and says so."""

import numpy as np
import pytest

import viz_encoder as vz

SENTENCE = "the keys to the cabinet [MASK] old"


def test_it_draws_the_effects_on_one_signed_scale(grammar):
    figure = vz.figures.head_effects(grammar, grammar.read(SENTENCE))
    found = vz.effect(grammar, SENTENCE)
    [heatmap] = figure.data
    assert np.array_equal(heatmap.z, found.values[0])
    assert heatmap.z[3][0] < 0  # removing 3.0 weakens the answer
    assert -heatmap.zmin == heatmap.zmax == np.abs(found.values).max()
    assert np.array_equal(heatmap.text, found.answers[0])
    assert figure.layout.title.text.startswith("Removing head 3.0 flips “are” (0.995) to “is”")
    assert "logit of “are” − “is” at token 6" in heatmap.colorbar.title.text
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("Head", "Layer")


def test_a_measure_is_chosen(grammar):
    figure = vz.figures.head_effects(grammar, grammar.read(SENTENCE), measure="pooled")
    found = vz.effect(grammar, SENTENCE, measure="pooled")
    assert np.array_equal(figure.data[0].z, found.values[0])
    assert figure.data[0].texttemplate is None  # a vector answers nothing
    with pytest.raises(vz.VizEncoderError, match="weight"):
        vz.figures.head_effects(grammar, grammar.read(SENTENCE), measure="weight")
