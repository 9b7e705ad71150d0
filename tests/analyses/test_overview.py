"""Overview: merged, renormalized and pooled parts of a map, against loops over single weights."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.by_hand import layer_of, run_of
from viz_encoder.analyses.overview import overview, row
from viz_encoder.trace import LayerTrace, head_rows
from viz_encoder.trace.token_selection import shown_tokens

N, HEADS = 13, 3
WORDS = (None, 0, 0, 1, 2, 2, 2, None, 0, 1, 1, None, None)
SEGMENTS = (0,) * 8 + (1,) * 5
SPECIAL = tuple(word is None for word in WORDS)
ENTRIES = [(0,), (1, 2), (3,), (4, 5, 6), (7,), (8,), (9, 10), (11,), (12,)]
KEPT = [entry for entry in ENTRIES if not SPECIAL[entry[0]]]
SINGLE = [(at,) for at in range(N)]
EVERYTHING = slice(None)
HEAD_CHOICES = [1, "mean", "max", (0, 2)]


@pytest.fixture(scope="module")
def trace():
    """Two texts of sub-words; the last token is padding, and one query may attend to nothing."""
    rng = torch.Generator().manual_seed(0)
    draw = lambda: torch.randn(HEADS, N, 8, generator=rng)  # noqa: E731
    mask = torch.ones(1, N, N, dtype=torch.bool)
    mask[..., -1] = False
    mask[0, 8] = False
    mask[0, 3, 2] = mask[0, 5, 9] = mask[0, 3, 9:11] = False  # a part of a word, and a whole one
    layer = LayerTrace(draw(), draw(), draw(), scale=1.0, mask=mask)
    valid = [True] * (N - 1) + [False]
    return run_of(layer, valid=valid, special=SPECIAL, words=WORDS, segments=SEGMENTS)


def loops(trace, head, entries, renormalize):
    """The same map cell by cell, from single weights in float64."""
    each = trace.attention(0).double().numpy()
    allowed = trace.layers[0].mask[0].numpy()
    heads = {"mean": range(HEADS), "max": range(HEADS)}.get(
        head, [head] if isinstance(head, int) else head
    )
    fused = np.zeros((N, N))
    for query in range(N):
        for key in range(N):
            cells = [each[one, query, key] for one in heads]
            fused[query, key] = max(cells) if head == "max" else sum(cells) / len(cells)
    shown = [at for entry in entries for at in entry]
    if renormalize:
        for query in range(N):
            total = sum(fused[query, key] for key in shown)
            fused[query] = fused[query] / total if total else fused[query]
    out = np.full((len(entries), len(entries)), np.nan)
    for i, queries in enumerate(entries):
        for j, keys in enumerate(entries):
            if any(allowed[q, k] for q in queries for k in keys):
                sums = [sum(fused[q, k] for k in keys) for q in queries]
                out[i, j] = sum(sums) / len(sums)
    return out


def close(found, expected):
    assert found.shape == expected.shape
    assert (np.isnan(found) == np.isnan(expected)).all()
    largest = np.nanmax(expected, initial=0) or 1
    assert np.abs(np.nan_to_num(found) - np.nan_to_num(expected)).max() <= 2e-6 * largest


@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("entries", [SINGLE, SINGLE[::-1], ENTRIES, KEPT, KEPT[::-1]])
def test_a_map_is_what_loops_give(trace, entries, renormalize):
    for head in HEAD_CHOICES:
        check(trace, head, entries, renormalize)


def check(trace, head, entries, renormalize):
    expected = loops(trace, head, entries, renormalize)
    tile = overview(
        trace, 0, head, rows=EVERYTHING, keys=EVERYTHING, tokens=entries, renormalize=renormalize
    )
    close(tile.values, expected)
    assert tile.total == pytest.approx(np.nansum(expected), rel=2e-6)
    assert np.allclose(tile.row_tops, np.nan_to_num(expected).max(axis=1), rtol=2e-6)
    assert tile.empty == int((np.nan_to_num(expected).sum(axis=1) == 0).sum())
    for place, entry in enumerate(entries):
        found = row(trace, 0, head, entry, tokens=entries, renormalize=renormalize).weights
        close(found, expected[place])


def test_a_part_holds_its_own_weight_and_whole_rows_tops(trace):
    expected = loops(trace, 1, ENTRIES, True)
    part = overview(
        trace, 0, 1, rows=slice(2, 6), keys=slice(3, 7), tokens=ENTRIES, renormalize=True
    )
    close(part.values, expected[2:6, 3:7])
    assert part.total == pytest.approx(np.nansum(expected[2:6, 3:7]), rel=2e-6)
    assert np.allclose(part.row_tops, np.nan_to_num(expected[2:6]).max(axis=1), rtol=2e-6)
    assert part.empty == 1  # t8, which may attend to nothing


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("entries", [SINGLE, ENTRIES])
def test_pooled_cells_are_the_largest_of_their_block(trace, size, entries):
    expected = loops(trace, "max", entries, False)
    half = len(entries) // 2  # other steps on each side
    keys = slice(0, half)
    tile = overview(trace, 0, "max", rows=EVERYTHING, keys=keys, tokens=entries, size=size)
    step, key_step = -(-len(entries) // size), -(-half // size)
    assert (tile.row_step, tile.key_step) == (step, key_step)
    starts, key_starts = range(0, len(entries), step), range(0, half, key_step)
    assert tile.row_edges.tolist() == [*starts, len(entries)]
    assert tile.key_edges.tolist() == [*key_starts, half]
    part = expected[:, keys]
    blocks = [[part[i : i + step, j : j + key_step] for j in key_starts] for i in starts]
    pooled = [
        [np.nan if np.isnan(block).all() else np.nanmax(block) for block in line] for line in blocks
    ]
    close(tile.values, np.array(pooled))
    tops = [np.nan_to_num(expected[i : i + step]).max() for i in starts]
    assert np.allclose(tile.row_tops, tops, rtol=2e-6)
    assert tile.total == pytest.approx(np.nansum(part), rel=2e-6)


@pytest.mark.parametrize("entries", [SINGLE, ENTRIES])
def test_few_rows_at_a_time_give_the_same(trace, entries, monkeypatch):
    whole = overview(trace, 0, (0, 2), rows=EVERYTHING, keys=EVERYTHING, tokens=entries, size=4)
    monkeypatch.setattr(head_rows, "BLOCK_BYTES", 4 * N * 2)  # two queries, fewer than a word has
    again = overview(trace, 0, (0, 2), rows=EVERYTHING, keys=EVERYTHING, tokens=entries, size=4)
    close(again.values, whole.values)
    assert again.empty == whole.empty and again.total == pytest.approx(whole.total, rel=1e-6)


def test_merged_and_renormalized_rows_sum_to_one(trace):
    for entries in (SINGLE, ENTRIES, KEPT):
        tile = overview(
            trace, 0, "max", rows=EVERYTHING, keys=EVERYTHING, tokens=entries, renormalize=True
        )
        sums = np.nansum(tile.values, axis=1)
        dead = [entry == (8,) for entry in entries]
        assert np.allclose(sums, np.where(dead, 0, 1), atol=2e-6)


def test_weights_that_only_hidden_keys_have_leave_nothing(trace):
    maps = torch.zeros(1, N, N)
    maps[0, :, 0] = 1  # all on a special token
    sink = replace(trace, layers=(layer_of(maps),))
    tile = overview(sink, 0, 0, rows=EVERYTHING, keys=EVERYTHING, tokens=KEPT, renormalize=True)
    assert (tile.values == 0).all() and tile.empty == len(KEPT) and tile.total == 0


@pytest.mark.parametrize(
    ("special", "words", "expected"),
    [
        (True, False, SINGLE),
        (False, False, [(at,) for at in range(N) if not SPECIAL[at]]),
        (True, True, ENTRIES),
        (False, True, KEPT),
    ],
)
def test_shown_tokens(trace, special, words, expected):
    assert shown_tokens(trace, hide_special=not special, words=words) == expected


def test_words_of_two_texts_stay_apart(trace):
    touching = replace(
        trace.sample, special=(False,) * N, words=(0,) * N, segments=(0,) * 6 + (1,) * 7
    )
    found = shown_tokens(replace(trace, sample=touching), words=True)
    assert found == [tuple(range(6)), tuple(range(6, N))]


def test_a_run_without_words_merges_nothing(trace):
    bare = replace(trace, sample=replace(trace.sample, words=(), segments=()))
    assert shown_tokens(bare, words=True) == SINGLE


def test_a_head_that_is_named_twice_counts_once(trace):
    whole = slice(None)
    once = overview(trace, 0, (0, 1), rows=whole, keys=whole).values
    twice = overview(trace, 0, (0, 1, 1), rows=whole, keys=whole).values
    assert np.array_equal(twice, once, equal_nan=True)
    weights = trace.attention(0)[:2].mean(dim=0).numpy()
    assert np.nanmax(np.abs(once - weights)) <= 1e-6
