"""Figures: their numbers are the trace's, their texts are the user's and stay text."""

import inspect

import numpy as np
import pytest

import viz_encoder as vz
from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError
from viz_encoder.ui.run import PICTURES

TEXT = "<b>the</b> the the <a href='x'>cat</a>"


@pytest.fixture(scope="module")
def trace(minilm):
    return vz.capture(minilm, TEXT)


@pytest.fixture(scope="module")
def picture():
    return vz.capture(vz.load("scene", device="cpu"), asset(PICTURES["a wide scene"]))


def test_every_view_is_a_function_of_its_name(trace, picture):
    assert {"attention_map", "head_atlas", "head_statistics", "patch_overlay"} <= set(
        vz.figures.VIEWS
    )
    for name, view in vz.figures.VIEWS.items():
        assert getattr(vz.figures, name) is view.draw
        options = set(inspect.signature(view.draw).parameters) - {"trace"}
        assert options == {control.name for control in view.controls}
        figure = view.draw(picture)
        axes = figure.layout.xaxis.title.text, figure.layout.yaxis.title.text
        assert all(axes), name
    with pytest.raises(AttributeError, match="There is no view"):
        vz.figures.no_such_view  # noqa: B018


@pytest.mark.parametrize("head", [5, "mean", "max"])
def test_the_map_holds_the_weights(trace, head):
    every = trace.attention(3)
    expected = (
        every[5] if head == 5 else getattr(every, "mean" if head == "mean" else "amax")(dim=0)
    )
    figure = vz.figures.attention_map(trace, layer=3, head=head)
    assert np.abs(figure.data[0].z - expected.numpy()).max() <= 1e-6
    assert figure.layout.xaxis.title.text == "Key (who is looked at)"
    assert figure.layout.yaxis.title.text == "Query (who looks)"
    assert figure.layout.yaxis.autorange == "reversed"


def test_equal_tokens_stay_apart_and_text_stays_text(trace):
    figure = vz.figures.attention_map(trace)
    assert len(figure.data[0].x) == len(set(figure.data[0].x)) == trace.n_tokens
    texts = [*figure.layout.xaxis.ticktext, *figure.data[0].hovertext[0]]
    assert "&lt;" in figure.layout.xaxis.ticktext
    assert not any("<b>" in text or "<a" in text for text in texts)


def test_masked_cells_are_holes(minilm):
    padded = vz.capture(minilm, ["short", TEXT])[0]
    figure = vz.figures.attention_map(padded, layer=1, head=2)
    assert np.array_equal(np.isnan(figure.data[0].z[0]), ~padded.valid.numpy())


def test_statistics_are_the_survey_s(trace):
    figure = vz.figures.head_statistics(trace, statistic="entropy")
    weights = trace.attention(2)[7]
    expected = -(weights * weights.log()).sum(dim=-1).mean()
    assert figure.data[0].z[2, 7] == pytest.approx(float(expected), abs=1e-5)
    with pytest.raises(SelectionError, match="choose one of entropy"):
        vz.figures.head_statistics(trace, statistic="luck")


def test_the_overlay_is_the_row(picture, trace):
    figure = vz.figures.patch_overlay(picture, layer=1, head=2, query=7)
    expected = picture.attention(1, 2)[7, picture.grid.n_prefix :].numpy()
    assert np.abs(figure.data[1].z.ravel() - expected).max() <= 1e-6
    assert figure.data[1].z.shape == (picture.grid.n_rows, picture.grid.n_cols)
    with pytest.raises(SelectionError, match="of a text"):
        vz.figures.patch_overlay(trace)
