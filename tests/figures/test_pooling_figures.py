"""Figures of poolings: their numbers by numpy, their order by label, and texts as text."""

import numpy as np
import pytest
import torch

import viz_encoder as vz
from viz_encoder.analyses.collection import collection
from viz_encoder.analyses.pooled import pooled
from viz_encoder.errors import SelectionError
from viz_encoder.figures.pooling import item_cosines, method_cosines, pooling_table
from viz_encoder.inputs.items import Item

torch.set_num_threads(1)
ITEMS = [
    *(Item("A cat slept.", "cat"), Item("<b>Dogs</b> run.", "dog")),
    *(Item("The cat purred.", "cat"), Item("A dog barked.", "dog")),
]


@pytest.fixture(scope="module")
def found(minilm):
    return collection(minilm, ITEMS)


def naive(vectors):
    unit = vectors / np.linalg.norm(vectors.astype(float), axis=1, keepdims=True)
    return unit @ unit.T


def test_items_stand_by_label_and_then_as_given(found):
    figure = item_cosines(found, "mean", 6)
    order = [0, 2, 1, 3]
    expected = naive(found.vectors["mean"][6])[np.ix_(order, order)]
    np.testing.assert_allclose(figure.data[0].z, expected, atol=2e-6)
    names = figure.layout.xaxis.ticktext
    assert [name.split()[0] for name in names] == ["0", "2", "1", "3"]
    assert "&lt;b&gt;Dogs" in names[2] and names[2].endswith("(dog)")
    assert figure.layout.xaxis.title.text == figure.layout.yaxis.title.text == "Item, by label"
    assert [shape.y0 for shape in figure.layout.shapes if shape.y0 == shape.y1] == [1.5]


def test_methods_of_one_input(minilm):
    trace = vz.capture(minilm, "A cat slept.")
    figure = method_cosines(pooled(minilm, trace), 6)
    hidden = trace.output.numpy()
    expected = naive(np.stack([hidden[0], hidden.mean(axis=0)]))[0, 1]
    names = list(figure.layout.xaxis.ticktext)
    cls, mean = names.index("cls"), names.index("mean")
    assert figure.data[0].z[cls][mean] == pytest.approx(expected, abs=2e-6)
    assert np.isnan(figure.data[0].z[mean][names.index("cls_mean")])
    with pytest.raises(SelectionError, match="was not run"):
        method_cosines(pooled(minilm, trace, states=[6]), 2)


def test_the_table_keeps_its_order_and_says_what_is_not_known(found):
    rows = found.table()
    cells = pooling_table(rows).data[0].cells.values
    assert list(cells[0]) == [row.method for row in rows]
    assert cells[2][0] == f"{rows[0].silhouette:.3f}" and cells[2][-1] == "–"
