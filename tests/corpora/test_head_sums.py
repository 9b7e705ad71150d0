"""Sums of parts: split and merged in any way they make one table, and no text is held."""

import gc
import random
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import viz_encoder as vz
from scripts import grammar as language
from tests.shape_checks import shapes_checked
from viz_encoder.corpora import HeadSums, chunk
from viz_encoder.corpora.head_table import About, Failure
from viz_encoder.corpora.measured_batch import measure_batch
from viz_encoder.corpora.relations import with_random_weights
from viz_encoder.corpora.spread import PARTS, SpreadSums
from viz_encoder.corpora.statistics import STATISTICS
from viz_encoder.errors import TraceError

ABOUT = About("grammar", ("statistics", "roles", "examples"), tuple(STATISTICS))


def sentences(n: int) -> list[str]:
    rng = random.Random(5)
    rules = list(language.RULES)
    return [" ".join(language.RULES[rules[at % 4]](rng).words) for at in range(n)]


def batches(encoder, texts, numbers, size):
    for start in range(0, len(numbers), size):
        part = numbers[start : start + size]
        yield measure_batch(encoder, part, [encoder.read(texts[at]) for at in part])


def table_of(parts):
    whole, *rest = parts
    for part in rest:
        whole.merge(part)
    return whole.finish(ABOUT)


def sums_of(encoder, found, k=4):
    sums = HeadSums.empty(encoder.config.n_layers, encoder.config.n_heads, k=k)
    for batch in found:
        sums.add(batch)
    return sums


def same(one, other, tolerance, examples=True):
    assert (one.n_texts, one.n_tokens) == (other.n_texts, other.n_tokens)
    for name in one.statistics:
        assert one[name].n_texts == other[name].n_texts
        for part in ("mean", "sd", "least", "most"):
            found, wanted = getattr(one[name], part), getattr(other[name], part)
            limit = tolerance * max(1.0, np.nanmax(np.abs(wanted), initial=0.0))
            np.testing.assert_allclose(found, wanted, rtol=0, atol=limit, err_msg=f"{name} {part}")
    if examples:
        assert one.examples.found == other.examples.found


@pytest.fixture(scope="module")
def texts():
    return sentences(84)


@pytest.fixture(scope="module")
def found(grammar, texts):
    return list(batches(grammar, texts, list(range(len(texts))), 6))


@pytest.mark.parametrize("n_parts", [1, 3, 7])
def test_the_same_batches_in_any_number_of_parts_give_one_table(grammar, found, n_parts):
    whole = sums_of(grammar, found).finish(ABOUT)
    parts = [sums_of(grammar, found[at::n_parts]) for at in range(n_parts)]
    same(table_of(reversed(parts)), whole, 1e-12)


def test_the_spread_is_that_of_numpy_over_the_texts(grammar, found):
    values = np.concatenate([batch.statistics for batch in found])
    table = sums_of(grammar, found).finish(ABOUT)
    for at, name in enumerate(STATISTICS):
        column, spread = values[..., at], table[name]
        assert spread.n_texts == int((~np.isnan(column[:, 0, 0])).sum())
        if not spread.n_texts:
            assert np.isnan(spread.mean).all()
            continue
        for part, wanted in (
            ("mean", np.nanmean(column, axis=0)),
            ("sd", np.nanstd(column, axis=0, ddof=1)),
            ("least", np.nanmin(column, axis=0)),
            ("most", np.nanmax(column, axis=0)),
        ):
            np.testing.assert_allclose(getattr(spread, part), wanted, rtol=1e-12, atol=1e-14)


def test_shuffled_into_other_batches_numbers_differ_by_rounding_only(grammar, texts, found):
    whole = sums_of(grammar, found).finish(ABOUT)
    numbers = list(range(len(texts)))
    random.Random(1).shuffle(numbers)
    shuffled = sums_of(grammar, batches(grammar, texts, numbers, 11)).finish(ABOUT)
    same(shuffled, whole, 1e-6, examples=False)
    scores = [[one.score for one in table.examples] for table in (shuffled, whole)]
    np.testing.assert_allclose(*scores, atol=1e-6)


def test_examples_are_the_strongest_by_score_and_then_by_number(grammar, texts, found):
    table = sums_of(grammar, found, k=3).finish(ABOUT)
    scores = np.concatenate([batch.score for batch in found])
    for layer, head in np.ndindex(scores.shape[1:]):
        best = {}
        for text, score in zip(texts, scores[:, layer, head].tolist(), strict=True):
            best[text] = max(score, best.get(text, 0.0))
        kept = table.of_head(layer, head)
        assert [one.score for one in kept] == sorted(best.values(), reverse=True)[:3]
        assert [(-one.score, one.item) for one in kept] == sorted(
            (-one.score, one.item) for one in kept
        )
        for one in kept:
            trace = vz.capture(grammar, one.texts[0])
            weight = float(trace.attention(layer, head)[one.query, one.key])
            assert abs(weight - one.score) < 1e-5
            assert trace.tokens[one.query] == one.query_token
            start, stop = one.key_span
            assert one.texts[0][start:stop] == trace.tokens[one.key] == one.key_token


def test_a_text_that_comes_twice_is_one_example(grammar):
    texts = ["the keys are old"] * 3 + ["the cat runs"]
    numbers = [2, 1, 3, 0]
    found = measure_batch(grammar, numbers, [grammar.read(texts[at]) for at in numbers])
    for batches_ in ([found], [found.without({0}), found.without({1, 2, 3})]):
        kept = sums_of(grammar, batches_).finish(ABOUT).of_head(0, 0)
        assert sorted(one.item for one in kept) == [0, 3]


def test_sums_are_the_same_after_bytes(grammar, found):
    sums = sums_of(grammar, found)
    sums.fail([Failure(9, "The text is empty."), Failure(4, "Ärgerlich.")])
    again = HeadSums.from_bytes(sums.to_bytes())
    for name in PARTS:
        np.testing.assert_array_equal(getattr(again.spreads, name), getattr(sums.spreads, name))
    one, other = again.finish(ABOUT), sums.finish(ABOUT)
    assert one.examples.found == other.examples.found
    assert (
        one.failures
        == other.failures
        == (Failure(4, "Ärgerlich."), Failure(9, "The text is empty."))
    )
    with pytest.raises(TraceError, match="do not hold the sums of a corpus"):
        HeadSums.from_bytes(b"PK nothing")


def test_a_text_whose_weights_are_not_numbers_is_listed(grammar, found):
    broken = found[0].statistics.copy()
    broken[2, 3] = np.nan
    sums = sums_of(grammar, [replace(found[0], statistics=broken)])
    assert sums.n_texts == 5 and sums.failures[0].item == 2
    assert "NaN" in sums.failures[0].reason
    table = sums.finish(ABOUT)
    assert np.isfinite(table["entropy"].mean).all()


def test_equal_texts_have_no_spread_at_all():
    values = np.full((1000, 1, 1, 1), 0.1)
    sums = SpreadSums.empty(1, 1, 1)
    for part in np.array_split(values, 7):
        sums.merge(SpreadSums.of(part))
    assert sums.spread(0).sd.max() < 1e-15


def test_parts_of_other_models_are_refused(grammar):
    with pytest.raises(TraceError, match="do not belong together"):
        HeadSums.empty(4, 4, k=3).merge(HeadSums.empty(6, 12, k=3))
    with pytest.raises(TraceError, match="do not belong together"):
        HeadSums.empty(4, 4, k=3).merge(HeadSums.empty(4, 4, k=5))


EARLY, LATE, CHUNK = 256, 512, 128  # whole chunks: what came before is measured by then
WORDS = ("keys", "cabinet", "box", "cat", "dog", "near", "old")
GROWTH = 15_000  # bytes; the texts alone are more


def held_by_us() -> int:
    """Bytes allocated below the package: a browser of an earlier test may still be at work."""
    gc.collect()
    ours = tracemalloc.Filter(True, "*/viz_encoder/*", all_frames=True)
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([ours]).traces)


def test_nothing_of_a_text_is_held_once_it_is_measured(grammar, monkeypatch):
    monkeypatch.setattr(chunk, "CHUNK_ITEMS", CHUNK)
    held = []

    def texts() -> Iterator[str]:
        rng = random.Random(0)
        for number in range(LATE + 1):
            if number in (EARLY, LATE):
                held.append(held_by_us())
            yield f"{' '.join(rng.choices(WORDS, k=3))} {number}"

    tracemalloc.start(12)  # frames: enough to reach the package
    try:
        with shapes_checked(False):  # which other tests do, and which allocates most of all
            vz.corpus(with_random_weights(grammar, 0), texts(), n=2)
    finally:
        tracemalloc.stop()
    early, late = held
    assert late - early < GROWTH, f"{late - early:,} bytes for {LATE - EARLY:,} texts"
