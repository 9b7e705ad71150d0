"""Figures of attributions and effects: their numbers are the result's, and folded ones add up."""

import numpy as np
import pytest

import viz_encoder as vz
from tests.refusals import refused
from viz_encoder.errors import SelectionError

TEXT = "The animal didn't cross the street because it was too tired"


@pytest.fixture(scope="module")
def found(minilm):
    return vz.attribute(minilm, TEXT, token=10)


def test_heads_and_links(found):
    figure = vz.figures.head_shares(found)
    assert np.array_equal(figure.data[0].z, found.heads)
    assert figure.data[0].zmax == abs(found.heads).max() == -figure.data[0].zmin
    assert figure.layout.title.text == found.sentence
    one = vz.figures.link_shares(found, layer=5, head=11)
    assert np.array_equal(one.data[0].z, found.links(5, 11))
    assert one.data[0].z[10, 2] == one.data[0].z.max()
    every = vz.figures.link_shares(found, layer=5, head="sum").data[0].z
    np.testing.assert_allclose(every, found.links(5).sum(axis=0), atol=1e-6)


def test_shares_of_each_token_by_block(found, minilm):
    figure = vz.figures.token_shares(found)
    assert np.array_equal(figure.data[0].z, found.states) and list(figure.data[0].y) == [*range(7)]
    plain = vz.figures.token_shares(found, hide_special=True).data[0].z
    assert np.array_equal(plain, found.states[:, 1:-1])
    two = vz.attribute(minilm, TEXT, token=10, against=TEXT.replace("tired", "really wide"))
    kept = vz.figures.token_shares(two, hide_special=True).data[0].x
    assert len(kept) == len(two.names) - 2 and "tired" in " ".join(kept)


def test_routes_are_those_of_the_result(found):
    figure = vz.figures.routes(found, least=0.03)
    nodes, *curves, links = figure.data
    assert np.array_equal(nodes.z, found.states)
    edges = [edge for edge in found.routes(0.03).edges if edge.query != edge.key]
    assert len(curves) == len(edges) >= 4
    strongest = max(edges, key=lambda edge: abs(edge.share))
    last = curves[-1]  # on top
    assert (last.x[0], last.x[-1]) == (strongest.key, strongest.query) == (2, 10)
    assert strongest.layer < last.y[0] < last.y[-1] < strongest.layer + 1
    assert last.line.width == max(curve.line.width for curve in curves)
    assert f"head 5.11 brings {strongest.by_head:+.4f}" in links.text[-1]
    named = [note.text for note in figure.layout.annotations if note.name == "link"]
    assert f"{strongest.share / found.score:.0%} (5.11: " in named[0]
    assert nodes.text[0][2] == f"{found.tokens[2] / found.score:.0%}"
    many = vz.figures.routes(found, least=0.001)
    moved = [edge for edge in found.routes(0.001).edges if edge.query != edge.key]
    (told,) = (note.text for note in many.layout.annotations if note.name == "caption")
    assert f" {len(moved) - 60} weaker ones are left out." in told.replace("<br>", " ")


def test_many_tokens_are_folded_into_one_column_that_adds_up(scene, picture):
    picture = vz.attribute(scene, picture)
    figure = vz.figures.routes(picture)
    nodes = figure.data[0]
    assert nodes.z.shape == (5, 40) and nodes.x[-1] == "112 others"
    np.testing.assert_allclose(nodes.z.sum(axis=1), picture.states.sum(axis=1), rtol=1e-9)
    top = int(picture.tokens.argmax())
    at = next(at for at, name in enumerate(nodes.x) if name.startswith(f"{top} "))
    assert nodes.z[0, at] == picture.tokens[top]


def test_by_attnlrp_there_are_no_links(minilm):
    found = vz.attribute(minilm, "a cat", through="attention")
    for draw in (vz.figures.routes, vz.figures.link_shares):
        refused(SelectionError, "weights are held", draw, found)
    assert "AttnLRP" in vz.figures.token_shares(found).layout.title.text


def test_the_table_of_two_texts_ends_in_their_biases(minilm):
    found = vz.attribute_pair(minilm, TEXT, "<b>It</b> was asleep")
    figure = vz.figures.pair_shares(minilm, TEXT, other="<b>It</b> was asleep")
    cells = figure.data[0].z
    assert np.array_equal(cells[:-1, :-1], found.shares)
    assert cells.sum() == pytest.approx(found.score, abs=1e-6)
    assert (figure.data[0].y[-1], figure.data[0].x[-1]) == ("biases", "biases")
    assert figure.data[0].y[2] == "2 animal" and "&lt;" in "".join(figure.data[0].x)
    alone = vz.figures.pair_shares(minilm, minilm.read(TEXT)).data[0].z
    assert alone == pytest.approx(alone.T, abs=1e-6)


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
