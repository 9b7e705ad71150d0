"""Figures of hidden states: their numbers, names, units, captions; padding is in none of them."""

import importlib

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import cosine_similarity

import viz_encoder as vz
from tests.by_hand import kept
from viz_encoder.analyses.residual_change import residual_change
from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError
from viz_encoder.figures.options import VIEWS, read_options
from viz_encoder.figures.view import SWITCH

NAMES = ("token_similarity", "over_smoothing", "residual_change", "projection", "logit_lens")


@pytest.fixture(scope="module")
def digit(scene):
    return vz.capture(scene, asset("examples/digit.png"))


def given(name, encoder, trace):
    whole = {"encoder": encoder, "weights": encoder, "trace": trace}
    return [whole[what] for what in VIEWS[name].takes]


def hidden(trace, layer, special=True):
    return trace.hidden(layer)[kept(trace, special)].double().numpy()


def shown_text(figure):
    return " ".join(note.text for note in figure.layout.annotations).replace("<br>", " ")


@pytest.mark.parametrize("name", NAMES)
def test_each_says_what_it_measures_and_names_its_axes(name, scene, digit):
    view = VIEWS[name]
    chosen = [{}]
    for control in view.controls:
        chosen += [{control.name: value} for value in control.choices]
    for options in chosen:
        figure = view.draw(*given(name, scene, digit), **read_options(view, options))
        assert "Measured" in shown_text(figure) and "Not measured" in shown_text(figure)
        axes = [part for part in figure.layout if part[1:5] == "axis"]
        assert axes and all(figure.layout[axis].title.text for axis in axes), options
        bars = [t.colorbar for t in figure.data if t.type == "heatmap" and t.coloraxis is None]
        if figure.layout.coloraxis.colorbar.title.text is not None:
            bars.append(figure.layout.coloraxis.colorbar)
        assert all(bar.title.text for bar in bars)
        assert bars or name in ("over_smoothing", "residual_change")


@pytest.mark.parametrize("name", NAMES)
def test_a_choice_that_is_not_there_is_said(name, scene, digit):
    view = VIEWS[name]
    for control in view.controls:
        if control.choices == SWITCH:
            with pytest.raises(SelectionError, match="'luck'; choose no, yes"):
                read_options(view, {control.name: "luck"})
        elif control.choices:
            with pytest.raises(SelectionError, match="choose one of"):
                view.draw(*given(name, scene, digit), **{control.name: "luck"})


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("centered", [True, False])
def test_likeness_is_the_cosine(padded, special, centered):
    figure = vz.figures.token_similarity(
        padded, state=4, hide_special=not special,
        mean="subtracted" if centered else "kept",
    )  # fmt: skip
    states = hidden(padded, 4, special)
    expected = cosine_similarity(states - states.mean(axis=0) if centered else states)
    (heat,) = figure.data
    assert np.abs(heat.z - expected).max() <= 1e-6
    assert [int(name.split()[0]) for name in heat.x] == kept(padded, special)
    assert len(set(heat.x)) == len(heat.x) and heat.x == heat.y
    assert (heat.zmin, heat.zmax) == (-1, 1) and "Cosine" in heat.colorbar.title.text
    assert ("some cosines must be negative" in shown_text(figure)) == centered


def test_over_smoothing_lines(padded):
    figure = vz.figures.over_smoothing(padded)
    lines = {line.name: line for line in figure.data}
    for layer in range(7):
        states = hidden(padded, layer)
        cosines = cosine_similarity(states)[~np.eye(len(states), dtype=bool)]
        assert lines["mean cosine"].y[layer] == pytest.approx(cosines.mean(), abs=1e-9)
        norms = np.linalg.norm(states, axis=1)
        assert lines["mean length"].y[layer] == pytest.approx(norms.mean())
        top = lines["mean length"].y[layer] + lines["mean length"].error_y.array[layer]
        assert top == pytest.approx(np.percentile(norms, 90))
    assert "does not prove over-smoothing" in shown_text(figure)


def test_residual_parts_in_both_forms(minilm, padded, scene, digit):
    found = residual_change(minilm, padded)
    lines = vz.figures.residual_change(minilm, padded)
    assert lines.data[0].y == pytest.approx(np.median(found.attention_shares, axis=1))
    assert lines.data[1].y == pytest.approx(np.median(found.feed_forward_shares, axis=1))
    before, after = hidden(padded, 2), hidden(padded, 3)
    cosines = np.diagonal(cosine_similarity(before, after))
    assert lines.data[2].y[2] == pytest.approx(np.median(cosines))
    assert "before the norm" in shown_text(lines)
    strips = vz.figures.residual_change(minilm, padded, show="each token")
    assert np.array_equal(strips.data[0].z, found.attention_shares)
    assert np.array_equal(strips.data[1].z, found.feed_forward_shares)
    assert [int(name.split()[0]) for name in strips.data[0].x] == kept(padded)
    assert "before the norm" not in shown_text(vz.figures.residual_change(scene, digit))


def test_the_plane_is_pca_s(padded, monkeypatch):
    figure = vz.figures.projection(padded, token=3)
    states = np.stack([hidden(padded, layer) for layer in range(7)])
    fit = PCA(n_components=2, svd_solver="full")
    points = fit.fit_transform(states.reshape(-1, 384)).reshape(7, -1, 2)
    *layers, way = figure.data
    for layer, drawn in enumerate(layers):
        assert np.allclose(np.stack([drawn.x, drawn.y], axis=1), points[layer], atol=1e-6)
        assert set(drawn.marker.color) == {layer}
    assert np.allclose(np.stack([way.x, way.y], axis=1), points[:, 3], atol=1e-6)
    assert f"{fit.explained_variance_ratio_[0]:.1%}" in figure.layout.xaxis.title.text
    with pytest.raises(SelectionError, match="is padding"):
        vz.figures.projection(padded, token=padded.n_tokens - 1)
    left_out = vz.figures.projection(padded, token=0, hide_special=True).data[-1]
    assert len(left_out.x) == 0 and "left out" in left_out.name
    module = importlib.import_module("viz_encoder.figures.projection")
    monkeypatch.setattr(module, "MAX_POINTS", 30)
    thin = vz.figures.projection(padded)
    assert sum(len(layer.x) for layer in thin.data) <= 35
    assert "th token" in thin.layout.title.text


def test_the_head_read_off_every_layer(monkeypatch, grammar):
    short, _ = vz.capture(grammar, ["the dog [MASK] .", "the keys to the cabinet [MASK] old ."])
    figure = vz.figures.logit_lens(grammar, short)
    n_real = int(short.valid.sum())
    head = grammar.model.heads["masked"]
    with torch.inference_mode():
        shares = [
            head(grammar.model.final_norm(state)[None])[0, :n_real].softmax(dim=-1)
            for state in short.hidden_states
        ]
    best = torch.stack([each.max(dim=-1).values for each in shares]).numpy()
    (heat,) = figure.data
    assert np.abs(heat.z - best).max() <= 1e-6 and len(heat.x) == n_real
    words = grammar.reader.tokenizer
    assert heat.text[2][3] == words.id_to_token(int(shares[2][3].argmax()))
    assert heat.texttemplate and len(heat.customdata[0][0].split("<br>")) == 5
    answer = vz.figures.logit_lens(grammar, short, show="the model's answer").data[0]
    last = shares[-1].argmax(dim=-1)
    finals = torch.stack([each.gather(-1, last[:, None])[:, 0] for each in shares]).numpy()
    assert np.abs(answer.z - finals).max() <= 1e-6
    assert set(np.asarray(answer.text)[:, 3]) == {words.id_to_token(int(last[3]))}
    module = importlib.import_module("viz_encoder.figures.logit_lens")
    monkeypatch.setattr(module, "MAX_KEYS", 2)
    cut = vz.figures.logit_lens(grammar, short)
    assert len(cut.data[0].x) == 2 and f"first 2 of {n_real} tokens" in cut.layout.title.text


def test_a_head_of_the_whole_picture_has_one_column(scene, digit, minilm):
    heat = vz.figures.logit_lens(scene, digit).data[0]
    assert heat.z.shape == (5, 1) and heat.x == ("whole input",) and heat.text[-1][0] == "7"
    with pytest.raises(SelectionError, match="no prediction head"):
        vz.figures.logit_lens(minilm, vz.capture(minilm, "a"))


def test_patches_and_prefix_tokens_are_named(digit):
    names = vz.figures.token_similarity(digit, state=1).data[0].x
    assert names[:2] == ("0 [CLS]", "1 r0c0") and len(names) == 101
