"""The map of token pairs: its cells, their sum in the title, blocks of long texts, text as text."""

import numpy as np
import pytest

import viz_encoder as vz
from tests.refusals import refused
from tests.ui.texts import PICTURES
from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError
from viz_encoder.figures import token_pairs  # the function, for it takes the name of its module

TEXTS = "The bank approved the loan", "A <b>lender</b> granted it"


@pytest.fixture(scope="module")
def runs(minilm):
    return [vz.capture(minilm, text) for text in TEXTS]


def test_cells_sum_to_the_cosine_of_the_title(minilm, runs):
    figure = token_pairs(minilm, runs[0], other=TEXTS[1], state=3)
    p, q = (run.hidden(3).double().numpy() for run in runs)
    u, v = p.mean(axis=0), q.mean(axis=0)
    cosine = u @ v / np.linalg.norm(u) / np.linalg.norm(v)
    cells = p @ q.T / len(p) / len(q) / np.linalg.norm(u) / np.linalg.norm(v)
    drawn = figure.data[0]
    np.testing.assert_allclose(drawn.z, cells, atol=1e-6)
    assert drawn.z.sum() == pytest.approx(cosine, abs=1e-6)
    title = f"Cosine {cosine:.4f} = the sum of these token pairs (mean, after 3 blocks)"
    assert figure.layout.title.text == title
    assert drawn.zmax == -drawn.zmin == pytest.approx(np.abs(cells).max())
    axes = figure.layout.yaxis.title.text, figure.layout.xaxis.title.text
    assert axes == ("Token of the first text", "Token of the second text")
    assert figure.layout.yaxis.autorange == "reversed"  # the first token stands on top
    assert drawn.y[0] == "0 [CLS]" and "2 &lt;" in drawn.x
    assert len(drawn.y) == runs[0].n_tokens and len(drawn.x) == runs[1].n_tokens
    same = token_pairs(minilm, runs[0], other=runs[1], state=3)
    np.testing.assert_allclose(same.data[0].z, drawn.z, atol=1e-9)


def test_a_run_is_as_itself_and_the_texts_of_a_pair_are_each_read_alone(minilm, runs):
    assert token_pairs(minilm, runs[0]).layout.title.text.startswith("Cosine 1.0000 =")
    pair = vz.capture(minilm, TEXTS)
    figure = token_pairs(minilm, pair)
    wanted = token_pairs(minilm, runs[0], other=TEXTS[1])
    assert np.array_equal(figure.data[0].z, wanted.data[0].z)
    assert figure.data[0].x == wanted.data[0].x and pair.n_tokens > len(figure.data[0].x)


def test_no_path_of_this_machine_is_read_for_a_picture_and_what_is_no_sum_is_refused(
    scene, picture, minilm, runs
):
    path = str(asset(PICTURES["a digit"]))
    refused(SelectionError, "scene reads pictures", token_pairs, scene, picture, other=path)
    refused(SelectionError, "choose mean", token_pairs, minilm, runs[0], method="max")
