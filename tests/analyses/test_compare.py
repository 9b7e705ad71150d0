"""Two runs compared: known answers, and every number by numpy over both whole maps."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.by_hand import maps_of, shown
from tests.refusals import refused
from viz_encoder.analyses.compare import compare
from viz_encoder.errors import SelectionError
from viz_encoder.trace import LayerTrace, head_rows
from viz_encoder.trace.map_view import MapView
from viz_encoder.trace.token_selection import shown_tokens

START = "The animal didn't cross the street because it was too "


@pytest.fixture(scope="module")
def runs(minilm):
    """The same sentence with another last word, and with one token more."""
    return {last: vz.capture(minilm, START + last) for last in ("tired", "wide", "so very tired")}


@pytest.fixture(scope="module")
def longer(runs):
    return compare(runs["so very tired"], runs["tired"])


def maps(trace):
    """All maps, "layer head query key"; NaN where masked."""
    found = np.stack([maps_of(trace, layer) for layer in range(trace.n_layers)])
    return found if trace.mask is None else np.where(trace.mask.numpy(), found, np.nan)


def expected(comparison):
    """The change of all aligned pairs, by indexing whole maps."""
    here, there = np.array(comparison.aligned).T
    now, was = maps(comparison.trace), maps(comparison.reference)
    return now[..., here[:, None], here] - was[..., there[:, None], there]


def test_wide_for_tired_is_seen_in_head_3_1(runs):
    found = compare(runs["wide"], runs["tired"])
    it, animal = (runs["wide"].tokens.index(word) for word in ("it", "animal"))
    cell = found.cell(it, animal)
    assert cell.was[3, 1] == pytest.approx(0.640, abs=5e-4)
    assert cell.now[3, 1] == pytest.approx(0.266, abs=5e-4)
    assert cell.change[3, 1] == cell.now[3, 1] - cell.was[3, 1]
    for ranked in (found.heads("it"), found.heads("it", "animal")):
        assert (ranked[0].layer, ranked[0].head) == (3, 1) and len(ranked) == 72
    street = runs["wide"].tokens.index("street")
    assert found.cell(it, street).was[3, 1] == pytest.approx(0.052, abs=5e-4)
    assert found.cell(it, street).now[3, 1] == pytest.approx(0.128, abs=5e-4)
    assert [runs["wide"].tokens[at] for at in found.only_here] == ["wide"]
    assert [runs["tired"].tokens[at] for at in found.only_there] == ["tired"]


def test_every_number_is_that_of_the_whole_maps(longer):
    every = expected(longer)
    assert len(longer.aligned) == longer.reference.n_tokens < longer.trace.n_tokens
    for layer, head in ((0, 0), (3, 1), (5, 11)):
        np.testing.assert_allclose(longer.map(layer, head), every[layer, head], atol=2e-6)
    distances = np.abs(every).sum(axis=-1) / 2
    for place in (0, 5, len(longer.aligned) - 1):
        query, key = longer.aligned[place][0], longer.aligned[2][0]
        np.testing.assert_allclose(longer.row(query), distances[..., place], atol=2e-6)
        np.testing.assert_allclose(longer.cell(query, key).change, every[..., place, 2], atol=2e-6)
    for layer in range(6):
        wanted = distances[layer].mean(axis=-1)
        np.testing.assert_allclose(longer.layer(layer), wanted, atol=2e-6)
    assert distances.max() > 0.05


def test_heads_are_ranked_by_the_absolute_change(longer):
    every, place = expected(longer), 10
    query, key = longer.aligned[place][0], longer.aligned[2][0]
    distances = np.abs(every).sum(axis=-1) / 2
    for ranked, wanted in (
        (longer.heads(), distances.mean(axis=-1)),
        (longer.heads(query), distances[..., place]),
        (longer.heads(query, key), every[..., place, 2]),
    ):
        order = np.abs(wanted).ravel().argsort()[::-1][:5]
        assert [12 * each.layer + each.head for each in ranked[:5]] == order.tolist()
        assert [each.change for each in ranked[:5]] == pytest.approx(
            wanted.ravel()[order].tolist(), abs=2e-6
        )


def test_a_tile_lies_over_this_runs_tokens(longer):
    whole, n = longer.tile(3, 1), longer.trace.n_tokens
    assert whole.values.shape == (n, n) and (whole.row_step, whole.key_step) == (1, 1)
    here = np.array(longer.aligned)[:, 0]
    assert np.array_equal(whole.values[here[:, None], here], longer.map(3, 1))
    lonely = list(longer.only_here)
    assert lonely and np.isnan(whole.values[lonely]).all()
    assert np.isnan(whole.values[:, lonely]).all()
    part = longer.tile(3, 1, rows=slice(2, 9), keys=slice(3, 5))
    assert np.allclose(part.values, whole.values[2:9, 3:5], atol=1e-6, equal_nan=True)
    refused(SelectionError, "part of the map is empty", lambda: longer.tile(3, 1, rows=slice(4, 4)))


def test_a_small_tile_keeps_the_strongest_change_and_its_sign(longer):
    whole, small = longer.tile(3, 1).values, longer.tile(3, 1, size=5)
    n, step = len(whole), -(-len(whole) // 5)
    assert (small.row_step, small.key_step) == (step, step)
    for i in range(-(-n // step)):
        for j in range(-(-n // step)):
            block = whole[i * step : (i + 1) * step, j * step : (j + 1) * step].ravel()
            block = block[~np.isnan(block)]
            if not len(block):
                assert np.isnan(small.values[i, j])
                continue
            assert small.values[i, j] == block[np.abs(block).argmax()]
    assert (small.values < 0).any() and (small.values > 0).any()


def test_what_has_no_partner_has_no_change(longer):
    alone = longer.only_here[0]
    assert longer.partner(alone) is None and longer.partner(1) == 1
    cell = longer.cell(alone, 1)
    weights = longer.trace.attention(2)[:, alone, 1].numpy()
    np.testing.assert_allclose(cell.now[2], weights, atol=1e-6)
    assert np.isnan(cell.was).all() and np.isnan(cell.change).all()
    assert np.isnan(longer.row(alone)).all() and longer.heads(alone) == ()


def test_a_mask_is_compared_cell_by_cell(minilm, runs):
    plain = runs["tired"]
    n = plain.n_tokens
    causal = vz.capture(minilm, START + "tired", mask=torch.ones(n, n, dtype=torch.bool).tril())
    found = compare(causal, plain)
    every = expected(found)
    assert np.isnan(every).any()
    np.testing.assert_allclose(found.map(2, 5), every[2, 5], atol=2e-6)
    assert np.isnan(found.cell(2, 9).now).all() and np.isnan(found.cell(2, 9).change).all()
    assert np.isfinite(found.cell(2, 9).was).all()
    zeros = np.nan_to_num(maps(causal)) - maps(plain)  # what may not be seen has weight 0
    np.testing.assert_allclose(found.row(2), np.abs(zeros[:, :, 2]).sum(axis=-1) / 2, atol=2e-6)
    np.testing.assert_allclose(
        found.layer(4), (np.abs(zeros[4]).sum(axis=-1) / 2).mean(axis=-1), atol=2e-6
    )


def test_padding_of_a_batch_takes_no_part(minilm, runs):
    padded = vz.capture(minilm, [START + "tired", START + "tired and it was so cold"])[0]
    found = compare(padded, runs["tired"])
    assert len(found.aligned) == runs["tired"].n_tokens < padded.n_tokens
    assert max(each.change for each in found.heads()) < 1e-5


def test_runs_without_a_token_in_common(minilm, runs):
    lonely = replace(runs["wide"], sample=replace(runs["wide"].sample, tokens=("x",) * 15))
    found = compare(lonely, runs["tired"])
    assert found.aligned == () and len(found.only_here) == 15 and found.map(0, 0).shape == (0, 0)
    assert np.isnan(found.layer(0)).all() and np.isnan(found.tile(0, 0).values).all()


def test_heads_of_models_of_other_sizes_are_not_compared(minilm):
    text = "the keys to the cabinet are old"
    small = vz.capture(vz.load("grammar", device="cpu"), text)
    found = compare(small, vz.capture(minilm, text))
    words = [small.tokens[a] for a, _ in found.aligned]
    assert words == ["[CLS]", *text.split(), "[SEP]"] and not found.only_here
    for asked in (
        lambda: found.cell(1, 1),
        lambda: found.row(1),
        lambda: found.layer(0),
        lambda: found.map(0, 0),
        lambda: found.tile(0, 0),
        found.heads,
    ):
        refused(SelectionError, "has 4 layers × 4 heads and the reference has 6", asked)


def test_a_key_alone_ranks_no_heads(longer):
    refused(SelectionError, "without a query", longer.heads, key=3)


def test_a_block_of_one_head_is_all_that_is_held(longer, monkeypatch):
    whole, distances = longer.map(3, "mean"), longer.layer(2)
    asked, weights = [], LayerTrace.weights

    def watched(self, heads, rows):
        found = weights(self, heads, rows)
        asked.append(found.numel() * 4)
        return found

    monkeypatch.setattr(LayerTrace, "weights", watched)
    monkeypatch.setattr(head_rows, "BLOCK_BYTES", 200)
    np.testing.assert_allclose(longer.map(3, "mean"), whole, atol=1e-6)
    np.testing.assert_allclose(longer.layer(2), distances, atol=1e-6)
    assert 0 < max(asked) <= 200


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("words", [False, True])
def test_cells_rows_and_layers_of_what_is_shown(minilm, hide, renormalize, words):
    """Each run's map is made as it is shown, then they are subtracted; plain loops."""
    texts = "The reinterpretation of tokenization", "A reinterpretation of the tokenization"
    now, was = (vz.capture(minilm, text) for text in texts)
    found = vz.analyses.compare(now, was)
    options = {"hide_special": hide, "renormalize": renormalize, "words": words}
    view = MapView(**options)

    here, there = (
        [list(group) for group in shown_tokens(run, hide_special=hide, words=words)]
        for run in (now, was)
    )
    after, before = (
        shown(run.attention(3, 5).double().numpy(), groups, renormalize=renormalize)
        for run, groups in ((now, here), (was, there))
    )
    partner = dict(found.aligned)
    both = [
        (at, there.index([partner.get(token) for token in group]))
        for at, group in enumerate(here)
        if [partner.get(token) for token in group] in there
    ]
    ours, theirs = (list(side) for side in zip(*both, strict=True))
    moved = after[np.ix_(ours, ours)] - before[np.ix_(theirs, theirs)]
    tile = np.full(after.shape, np.nan)
    tile[np.ix_(ours, ours)] = moved
    np.testing.assert_allclose(found.tile(3, 5, **options).values, tile, atol=2e-5)
    apart = abs(moved).sum(axis=1) / 2
    assert found.layer(3, view)[5] == pytest.approx(apart.mean(), abs=2e-5)
    query, key = 2, 6
    q, k = (next(at for at, group in enumerate(here) if token in group) for token in (query, key))
    assert q in ours and k in ours
    assert found.row(query, view)[3, 5] == pytest.approx(apart[ours.index(q)], abs=2e-5)
    cell = found.cell(query, key, view)
    old = before[theirs[ours.index(q)], theirs[ours.index(k)]]
    assert cell.now[3, 5] == pytest.approx(after[q, k], abs=2e-5)
    assert cell.was[3, 5] == pytest.approx(old, abs=2e-5)
    assert found.heads(query, key, view)[0].change == pytest.approx(
        cell.change.flat[np.abs(cell.change).argmax()], abs=1e-6
    )
    if hide:
        refused(SelectionError, "Query 0 is a special token", found.cell, 0, key, view)
