"""What costs more than a forward pass: on a sample that numbers alone decide."""

import numpy as np
import pytest

import viz_encoder as vz
from tests.corpora.test_head_sums import same, sentences
from viz_encoder.corpora import HeadTable, chunk
from viz_encoder.corpora.statistics import is_sampled
from viz_encoder.errors import SelectionError

MEASURES = ("statistics", "effect", "share", "similarity")
TEXTS = sentences(30)


@pytest.fixture(scope="module")
def table(grammar):
    return vz.corpus(grammar, TEXTS, measures=MEASURES, sample=0.2)


@pytest.fixture(scope="module")
def sampled():
    return [text for at, text in enumerate(TEXTS) if is_sampled(at, 0.2)]


def test_the_effect_is_that_of_removing_each_head(grammar, table, sampled):
    wanted = vz.effect(grammar, sampled, measure="pooled").values
    assert 2 <= len(sampled) < 15
    found = table["effect"]
    assert found.n_texts == len(sampled)
    np.testing.assert_allclose(found.mean, wanted.mean(axis=0), atol=1e-7)
    np.testing.assert_allclose(found.sd, wanted.std(axis=0, ddof=1), atol=1e-7)


def test_the_share_is_what_each_head_carried_of_the_vectors_length(grammar, table, sampled):
    found = vz.attribute(grammar, sampled, of="pooled")
    wanted = np.stack([abs(each.heads) / each.score for each in found])
    assert table["share"].n_texts == len(sampled)
    np.testing.assert_allclose(table["share"].mean, wanted.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(table["share"].sd, wanted.std(axis=0, ddof=1), rtol=1e-3)
    assert "share_sd" in table.to_frame() and table.ranked("share", 1)


def test_distances_are_those_of_similar_heads(grammar, table, sampled):
    traces = [vz.capture(grammar, text) for text in sampled]
    assert table.n_sampled == len(sampled)
    for layer, head in ((0, 0), (2, 3), (3, 1)):
        wanted = [
            np.asarray(vz.analyses.similar_heads(trace, layer, head, most_queries=16))
            for trace in traces
        ]
        np.testing.assert_allclose(table.distances[layer, head], np.mean(wanted, axis=0), atol=2e-6)
    assert np.abs(table.distances - table.distances.transpose(2, 3, 0, 1)).max() < 1e-6


def test_any_chunks_take_the_same_sample(grammar, table, tmp_path, monkeypatch):
    monkeypatch.setattr(chunk, "CHUNK_ITEMS", 7)
    given = {"measures": MEASURES, "sample": 0.2, "folder": tmp_path}
    for _ in range(2):  # the second from the parts
        found = vz.corpus(grammar, TEXTS, **given)
        same(found, table, 1e-6)
        np.testing.assert_allclose(found.distances, table.distances, atol=1e-6)
        assert found.n_sampled == table.n_sampled


def test_a_sample_that_holds_no_item_gives_no_numbers(grammar, tmp_path):
    at = next(at for at in range(100) if not is_sampled(at, 1e-3))
    assert at == 0
    found = vz.corpus(grammar, TEXTS[:1], measures=MEASURES, sample=1e-3)
    assert found["effect"].n_texts == 0 and np.isnan(found["effect"].mean).all()
    assert np.isnan(found.distances).all()
    found.save(tmp_path / "heads.json")
    assert np.isnan(HeadTable.load(tmp_path / "heads.json").distances).all()


def test_a_sample_is_a_share(grammar):
    shares = [
        sum(is_sampled(at, share) for at in range(20_000)) / 20_000 for share in (0.1, 0.5, 1)
    ]
    np.testing.assert_allclose(shares, [0.1, 0.5, 1], atol=0.02)
    for sample, limit in ((0, "above 0"), (1.5, "of at most 1")):
        with pytest.raises(
            SelectionError, match=f"sample is {sample}; it must be a number {limit}"
        ):
            vz.corpus(grammar, TEXTS, sample=sample)
    with pytest.raises(SelectionError, match="at least one of the measures"):
        vz.corpus(grammar, TEXTS, measures=["similarity"])
