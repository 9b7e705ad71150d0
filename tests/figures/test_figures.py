"""Figures: their numbers are the trace's, their texts are the user's and stay text."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
import torch
from plotly.colors import sample_colorscale

import viz_encoder as vz
from tests.by_hand import whole_maps
from tests.refusals import refused
from tests.ui.texts import PICTURES
from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError
from viz_encoder.figures.depth import depth_figure
from viz_encoder.figures.options import VIEWS, placed
from viz_encoder.figures.theme import WEIGHTS

NAMELESS = {"head_atlas", "head_effects", "head_statistics", "over_smoothing"}


def test_every_view_is_a_function_of_its_name(trace, picture, scene):
    inputs = scene.read(asset(PICTURES["a wide scene"]))
    given = {"trace": picture, "encoder": scene, "weights": scene, "inputs": inputs}
    given["attribution"] = vz.attribute(scene, picture)
    named = {"attention_map", "head_atlas", "head_statistics", "patch_overlay", "rollout"}
    named |= {"routes", "token_shares", "value_weighted"}
    assert named <= set(VIEWS)
    for name, view in VIEWS.items():
        assert getattr(vz.figures, name) is view.draw
        options = list(inspect.signature(view.draw).parameters)
        named = {"weights": "encoder"}  # it takes either
        assert options[: len(view.takes)] == [named.get(what, what) for what in view.takes]
        assert set(options[len(view.takes) :]) == {control.name for control in view.controls}
        figure = view.draw(*(given[what] for what in view.takes))
        axes = figure.layout.xaxis.title.text, figure.layout.yaxis.title.text
        assert all(axes), name


def test_a_view_says_its_place():
    """Each slot of the page has one view, or several in an order."""
    places = [view.place for view in VIEWS.values() if view.place is not None]
    ordered = [(place.tab, place.order) for place in places if place.order]
    assert len(set(ordered)) == len(ordered)
    slots = {(place.tab, place.slot) for place in places}
    assert slots == {
        *(("explore", slot) for slot in ("map", "overlay")),
        *(("vectors", slot) for slot in ("similarity", "change", "pca", "logit_lens")),
    }
    named = [view.name for view in placed("vectors", "change")]
    assert named == ["residual_change", "over_smoothing"]


def test_layer_by_key_says_its_axes_names_on_hover():
    rows, titles = np.array([[1, np.nan], [0, 1]]), ("Token (of the input)", "Blocks passed")
    figure, _ = depth_figure(rows, ("a", "b"), bar="", key_title=titles[0], layer_title=titles[1])
    assert [trace.hovertemplate.split("<extra>")[0] for trace in figure.data] == [
        "blocks passed %{y}<br>token %{x}<br>masked",
        "blocks passed %{y}<br>token %{x}<br>%{z:.4g}",
    ]


@pytest.mark.parametrize("scale", ["head", "percentile", "sqrt", "shared"])
def test_each_scale_colors_the_weights_themselves(trace, picture, scale):
    """The color that Plotly gives a weight, and the numbers on the bar, against their formulas."""
    figure = vz.figures.attention_map(trace, layer=3, head=5, scale=scale)
    (drawn,) = figure.data
    every = whole_maps(trace)
    assert np.abs(drawn.z - every[3, 5]).max() <= 1e-6
    assert figure.layout.xaxis.title.text == "Key (who is looked at)"
    assert figure.layout.yaxis.title.text == "Query (who looks)"
    assert figure.layout.yaxis.autorange == "reversed"
    check_colors(drawn, every[3, 5], scale)
    over = vz.figures.patch_overlay(picture, layer=1, head=2, query=7, scale=scale).data[1]
    check_colors(over, whole_maps(picture)[1, 2, 7, picture.grid.n_prefix :], scale)
    (atlas,) = vz.figures.head_atlas(trace, scale="all" if scale == "head" else scale).data
    cells = np.sort(atlas.z[~np.isnan(atlas.z)])
    assert np.abs(cells - np.sort(every.ravel())).max() <= 1e-6
    check_colors(atlas, every, scale)


def check_colors(drawn, every, scale):
    """The heatmap's colors of all weights and its bar, against the formulas of that scale."""
    low, high = np.quantile(every, (0.01, 0.99))
    ends = {"percentile": (low, high), "shared": (0, 1)}.get(scale, (0, every.max()))
    top = np.nanmax(drawn.z) if drawn.zmax is None else drawn.zmax
    assert (drawn.zmin, top) == pytest.approx(ends, abs=1e-6)
    share = ((every.ravel() - ends[0]) / (ends[1] - ends[0])).clip(0, 1)
    stops = np.array([list(bytes.fromhex(color[1:])) for color in WEIGHTS])
    place = (np.sqrt(share) if scale == "sqrt" else share) * (len(stops) - 1)
    wanted = np.stack([np.interp(place, range(len(stops)), part) for part in stops.T], axis=-1)
    ramp = [list(step) for step in drawn.colorscale]
    given = np.array(sample_colorscale(ramp, share, colortype="tuple"))
    assert np.abs(given * 255 - wanted).max() <= 8  # of 255: the bend is cut into 63 pieces
    if scale == "percentile":
        assert drawn.colorbar.ticktext[0] == f"≤ {low:.3g}"
        assert drawn.colorbar.ticktext[-1] == f"≥ {high:.3g}"
        assert np.allclose(drawn.colorbar.tickvals, np.linspace(low, high, 5))


def test_an_unknown_scale_is_said(trace):
    with pytest.raises(SelectionError, match="scale is 'jet'; choose one of head, percentile"):
        vz.figures.attention_map(trace, scale="jet")
    with pytest.raises(SelectionError, match="scale is 'head'; choose one of all, percentile"):
        vz.figures.head_atlas(trace, scale="head")


def test_the_border_of_a_pair(minilm, trace):
    pair = vz.capture(minilm, ("The cat sat", "It was tired"))
    begins = pair.sample.segments.index(1)
    figure = vz.figures.attention_map(pair, layer=3, head=5)
    down, across = figure.layout.shapes
    assert (down.y0, down.y1, down.x0, down.x1) == (begins - 0.5, begins - 0.5, 0, 1)
    assert (across.x0, across.x1, across.y0, across.y1) == (begins - 0.5, begins - 0.5, 0, 1)
    assert down.xref == across.yref == "paper"
    letters = [(each.text, each.x, each.y) for each in figure.layout.annotations]
    middles = begins / 2 - 0.5, (begins + pair.n_tokens) / 2 - 0.5
    assert letters == [
        *(("<b>A</b>", 1, middles[0]), ("<b>B</b>", 1, middles[1])),
        *(("<b>A</b>", middles[0], 0), ("<b>B</b>", middles[1], 0)),
    ]
    assert not vz.figures.attention_map(trace).layout.shapes


def test_equal_tokens_stay_apart_and_text_stays_text(trace):
    figure = vz.figures.attention_map(trace)
    names = figure.data[0].x
    assert len(names) == len(set(names)) == trace.n_tokens
    assert [name.split(" ", 1)[1] for name in names].count("the") == trace.tokens.count("the") == 3
    assert "1 &lt;" in names and figure.layout.xaxis.type == "category"


@pytest.mark.parametrize("name", sorted(VIEWS.keys() - {"patch_overlay"}))
def test_no_view_lets_markup_through(grammar, name):
    inputs = grammar.read("the dog [MASK] .")
    evil = tuple(f"<b>{token}</b><a href='x'>%{{x}}" for token in inputs.samples[0].tokens)
    inputs = replace(inputs, samples=(replace(inputs.samples[0], tokens=evil),))
    (trace,) = vz.capture(grammar, inputs)
    given = {"trace": trace, "encoder": grammar, "weights": grammar, "inputs": inputs}
    if "attribution" in VIEWS[name].takes:
        (given["attribution"],) = vz.attribute(grammar, inputs, of="state", token=2)
    options = {"residual_change": {"show": "each token"}, "projection": {"token": 1}}
    view = VIEWS[name]
    figure = view.draw(*(given[what] for what in view.takes), **options.get(name, {}))
    whole = figure.to_json().replace("\\u003c", "<").replace("\\u003e", ">")
    assert "<a" not in whole and "<b>" not in whole
    named = "&lt;b" in whole.replace("\\u0026", "&")
    assert named == (name not in NAMELESS)
    if name == "projection":
        assert "%{x}" not in figure.data[0].hovertemplate.split("after")[0]


def test_masked_cells_have_their_own_color(padded, trace):
    figure = vz.figures.attention_map(padded, layer=1, head=2)
    masked, weights = figure.data
    allowed = np.broadcast_to(padded.valid.numpy(), weights.z.shape)
    assert np.array_equal(np.isnan(weights.z), ~allowed)
    assert np.array_equal(np.isnan(masked.z), allowed)
    assert masked.showlegend and "masked" in masked.name
    assert masked.colorscale[0][1] not in [color for _, color in weights.colorscale]
    assert len(vz.figures.attention_map(trace).data) == 1


def test_cross_attention_names_the_other_sequence():
    model = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    for n_keys in (9, 3):
        keys = torch.randn(1, n_keys, 8)
        with torch.no_grad(), vz.record(model) as recording:
            model(torch.randn(1, 5, 8), keys, keys)
        names = [f"k{number}" for number in range(n_keys)]
        crossed = recording.trace(cross=True, key_tokens=names)
        figure = vz.figures.attention_map(crossed, head=1)
        assert np.abs(figure.data[0].z - crossed.attention(0, 1).numpy()).max() <= 1e-6
        assert [name.split(" ")[1] for name in figure.data[0].x] == names
        assert vz.figures.head_atlas(crossed).data[0].z.shape == (6, 2 * (n_keys + 1))
        refused(SelectionError, "cross-attention", vz.figures.rollout, crossed)


def test_the_atlas_holds_every_thumbnail(minilm, trace):
    padded = vz.capture(minilm, ["short", trace.sample.texts[0]])[0]
    figure = vz.figures.head_atlas(padded)
    masked, weights = figure.data
    n = padded.n_tokens
    for layer in (0, 5):
        for head in (0, 11):
            part = weights.z[layer * (n + 1) :, head * (n + 1) :][:n, :n]
            expected = padded.attention(layer, head).numpy()[:, padded.valid.numpy()]
            assert np.abs(part[:, padded.valid.numpy()] - expected).max() <= 1e-6
            holes = masked.z[layer * (n + 1) :, head * (n + 1) :][: n + 1, : n + 1]
            assert np.array_equal(np.isnan(holes[0, :n]), padded.valid.numpy())
            assert np.isnan(holes[n]).all() and np.isnan(holes[:, n]).all()  # a gap is no mask


def test_a_statistic_says_what_it_can_be_at_most(trace):
    figure = vz.figures.head_statistics(trace, statistic="entropy")
    assert (
        figure.data[0].colorbar.title.text
        == f"Entropy (nats; at most {np.log(trace.n_tokens):.2f})"
    )


def test_the_overlay_frames_its_query(picture, trace):
    figure = vz.figures.patch_overlay(picture, layer=1, head=2, query=30)
    frame = figure.layout.shapes[0]
    row, col = divmod(30 - picture.grid.n_prefix, picture.grid.n_cols)
    assert figure.data[1].y[row] == (frame.y0 + frame.y1) / 2
    assert figure.data[1].x[col] == (frame.x0 + frame.x1) / 2
    assert not vz.figures.patch_overlay(picture, query=0).layout.shapes
    assert figure.data[1].z.shape == (picture.grid.n_rows, picture.grid.n_cols)
    refused(SelectionError, "read a text", vz.figures.patch_overlay, trace)
