"""Each text's pooled vector beside the table: those of vz.pool, in order, whatever the parts."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from pyarrow import parquet

import viz_encoder as vz
from tests.corpora.test_corpus import count_runs, stop_after
from tests.corpora.test_head_sums import same, sentences
from viz_encoder.bundled import asset
from viz_encoder.corpora import HeadSums, chunk
from viz_encoder.corpora.measured_batch import measure_batch
from viz_encoder.corpora.spread import VectorSums
from viz_encoder.corpora.vector_rows import VectorFile, VectorRows, in_order
from viz_encoder.errors import InputError, SelectionError, TraceError
from viz_encoder.model.declared import Declared, Dense, Normalize

MEASURES = ("statistics", "vectors")
LONG = " ".join(["A bank approved the loan near the river."] * 40)  # 360 tokens; 256 are declared
MIXED = ["A dog barks.", "", LONG, ("A dog barks.", "A cat sleeps."), "The river is cold today."]


def read(path):
    rows = parquet.read_table(path)
    return rows, np.array(rows["vector"].to_pylist(), dtype=np.float64)


def unit_means(encoder, inputs):
    """What MiniLM declares (the mean, at length 1), in float64."""
    found = []
    for trace in vz.capture(encoder, inputs):
        hidden, valid = np.asarray(trace.output, dtype=np.float64), np.asarray(trace.valid)
        mean = hidden[valid].mean(axis=0)
        found.append(mean / np.linalg.norm(mean))
    return np.array(found)


@pytest.fixture(scope="module")
def mixed(minilm, tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "vectors.parquet"
    return vz.corpus(minilm, MIXED, measures="statistics", vectors=path), path


def test_each_vector_is_the_one_the_model_declares(minilm, mixed):
    table, path = mixed
    rows, vectors = read(path)
    assert rows["item"].to_pylist() == [0, 2, 3, 4]
    assert [one.item for one in table.failures] == [1]
    texts = [MIXED[at] for at in (0, 2, 3, 4)]
    wanted = np.concatenate(
        [unit_means(minilm, minilm.read(text, declared=True)) for text in texts]
    )
    assert minilm.read(LONG).valid.sum() > minilm.declared.max_tokens
    np.testing.assert_allclose(vectors, wanted, rtol=0, atol=1e-5)
    for at, text in enumerate(texts):
        [trace] = vz.capture(minilm, minilm.read(text, declared=True))
        pooled = vz.pool(trace.output, trace.valid, "declared", encoder=minilm)
        np.testing.assert_allclose(vectors[at], pooled.numpy(), rtol=0, atol=1e-5)


def test_in_a_batch_only_what_the_model_cuts_is_read_again(minilm):
    encoder = replace(minilm, declared=replace(minilm.declared, max_tokens=8))
    texts = ["A dog barks.", "The river is cold today, and so is the sea.", "A cat."]
    found = measure_batch(encoder, range(3), [encoder.read(text) for text in texts], "declared")
    read = [encoder.read(text, declared=True) for text in texts]
    assert [one.values.shape[1] == 8 for one in read] == [False, True, False]
    wanted = np.concatenate([unit_means(encoder, one) for one in read])
    np.testing.assert_allclose(found.vectors, wanted, rtol=0, atol=1e-5)


def test_a_row_says_its_text_its_method_and_its_layer(mixed):
    _, path = mixed
    rows, _ = read(path)
    assert rows.schema.names == ["item", "text", "text_b", "method", "layer", "vector"]
    assert rows["text"].to_pylist() == [MIXED[0], LONG, "A dog barks.", MIXED[4]]
    assert rows["text_b"].to_pylist() == ["", "", "A cat sleeps.", ""]
    assert set(rows["method"].to_pylist()) == {"declared"} and set(rows["layer"].to_pylist()) == {6}
    assert rows.schema.metadata[b"model"] == b"all-MiniLM-L6-v2"
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_the_table_holds_their_spread_and_the_cosine_of_every_pair(mixed):
    table, path = mixed
    _, vectors = read(path)
    found = table.vectors
    assert (found.n_texts, found.pooling) == (4, "declared")
    np.testing.assert_allclose(found.mean, vectors.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.sd, vectors.std(axis=0, ddof=1), rtol=1e-10, atol=1e-14)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = (units @ units.T)[~np.eye(4, dtype=bool)]
    assert found.mean_cosine == pytest.approx(pairs.mean(), rel=1e-10)
    assert found.to_frame().shape == (384, 3)


def test_without_a_file_the_sums_alone_are_made(grammar, tmp_path):
    texts = sentences(20)
    found = vz.corpus(grammar, texts, measures=MEASURES)
    path = tmp_path / "vectors.parquet"
    wanted = vz.corpus(grammar, texts, measures=MEASURES, vectors=path)
    np.testing.assert_array_equal(found.vectors.mean, wanted.vectors.mean)
    assert found.about.pooling == ("mean" if grammar.declared is None else "declared")
    sums = chunk.measure_items(grammar, range(20), texts, chunk.Settings(MEASURES, 0, 0.1, "mean"))
    assert sums.rows is None and sums.vectors.n == 20
    assert vz.corpus(grammar, texts).vectors is None
    one = vz.corpus(grammar, texts[:1], measures=MEASURES).vectors
    assert np.isnan(one.mean_cosine) and np.isnan(one.sd).all()


def test_other_methods_are_those_of_pool(grammar, tmp_path):
    texts, path = sentences(12), tmp_path / "vectors.parquet"
    for method in ("cls", "max", "cls_mean"):
        vz.corpus(grammar, texts, measures="statistics", vectors=path, pooling=method)
        _, vectors = read(path)
        traces = [vz.capture(grammar, text) for text in texts]
        wanted = [vz.pool(trace.output, trace.valid, method).numpy() for trace in traces]
        np.testing.assert_allclose(vectors, np.array(wanted), rtol=0, atol=1e-5)


def test_a_prompt_goes_before_each_text_and_is_left_out_if_so_declared(minilm, tmp_path):
    said = {"prompts": {"q": "query: "}, "default_prompt": "q", "include_prompt": False}
    prompted = replace(minilm, declared=replace(minilm.declared, **said))
    texts = ["A dog barks.", "The river is cold today.", prompted.read("A cat.", declared=True)]
    vz.corpus(prompted, texts, measures="statistics", vectors=tmp_path / "v.parquet")
    _, vectors = read(tmp_path / "v.parquet")
    wanted = []
    for text in ("A dog barks.", "The river is cold today.", "A cat."):
        [trace] = vz.capture(prompted, prompted.read(text, declared=True))
        kept = np.asarray(trace.output, dtype=np.float64)[trace.sample.n_prompt :]
        wanted.append(kept.mean(axis=0) / np.linalg.norm(kept.mean(axis=0)))
    np.testing.assert_allclose(vectors, np.array(wanted), rtol=0, atol=1e-5)
    ids = [minilm.read("A dog barks.").values[0].tolist()]
    found = vz.corpus(
        prompted, [*texts, *ids], measures="statistics", vectors=tmp_path / "v.parquet"
    )
    assert [one.item for one in found.failures] == [3] and "prompt" in found.failures[0].reason


def test_any_parts_give_the_same_rows(grammar, tmp_path, monkeypatch):
    texts = sentences(64)
    wanted = vz.corpus(grammar, texts, measures=MEASURES, vectors=tmp_path / "whole.parquet")
    monkeypatch.setattr(chunk, "CHUNK_ITEMS", 10)  # 7 parts
    found = vz.corpus(grammar, texts, measures=MEASURES, vectors=tmp_path / "parts.parquet")
    rows, vectors = read(tmp_path / "parts.parquet")
    assert rows["item"].to_pylist() == list(range(64)) and rows["text"].to_pylist() == texts
    np.testing.assert_allclose(vectors, read(tmp_path / "whole.parquet")[1], rtol=0, atol=1e-6)
    same(found, wanted, 1e-6)
    np.testing.assert_allclose(found.vectors.mean, wanted.vectors.mean, rtol=0, atol=1e-6)
    assert found.vectors.mean_cosine == pytest.approx(wanted.vectors.mean_cosine, abs=1e-6)


def test_the_same_batches_in_any_order_add_up_to_the_same(rng):
    vectors = np.random.default_rng(0).standard_normal((63, 8)).astype(np.float32) + 2
    parts = [VectorSums.of(vectors[at : at + 9]) for at in range(0, 63, 9)]
    for n in (1, 3, 7):
        groups = [VectorSums.of(vectors[:0]) for _ in range(n)]
        for at, part in enumerate(reversed(parts)):
            groups[at % n].merge(part)
        for other in groups[1:]:
            groups[0].merge(other)
        found, wide = groups[0].spread("mean"), vectors.astype(np.float64)
        np.testing.assert_allclose(found.mean, wide.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(found.sd, wide.std(axis=0, ddof=1), rtol=1e-12)
    with pytest.raises(TraceError, match="8 and of 3 numbers"):
        parts[0].merge(VectorSums.of(np.ones((2, 3))))


def test_a_zero_vector_has_no_cosine():
    vectors = np.array([[1.0, 0], [0, 0], [0, 2]])
    assert VectorSums.of(vectors).spread("mean").mean_cosine == 0
    assert np.isnan(VectorSums.of(vectors[:2]).spread("mean").mean_cosine)


def test_a_stopped_run_goes_on_without_a_row_lost_or_twice(grammar, tmp_path, monkeypatch):
    monkeypatch.setattr(chunk, "CHUNK_ITEMS", 8)
    texts, path = sentences(40), tmp_path / "vectors.parquet"
    given = {"measures": MEASURES, "folder": tmp_path / "parts", "vectors": path}
    whole = vz.corpus(grammar, texts, measures=MEASURES, vectors=tmp_path / "whole.parquet")
    path.write_bytes(b"what was there")
    with pytest.raises(TraceError, match="Stopped after 24 of 40"):
        vz.corpus(grammar, texts, **given, progress=stop_after(24))
    assert path.read_bytes() == b"what was there"
    assert not list(tmp_path.glob(".viz-encoder-*"))
    ran = count_runs(monkeypatch)
    found = vz.corpus(grammar, texts, **given)
    assert len(ran) == 3
    assert path.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    same(found, whole, 0)
    ran.clear()
    vz.corpus(grammar, texts, **given)
    assert not ran
    for other in ({**given, "pooling": "cls"}, {**given, "vectors": None}):
        ran.clear()
        vz.corpus(grammar, texts, **other)
        assert len(ran) == 5, "parts of another pooling, or without rows, are not these"


def test_parts_count_only_for_vectors_that_are_made_alike(grammar, tmp_path, monkeypatch):
    def declaring(**changes):
        return replace(grammar, declared=Declared(**changes))

    changed = [
        declaring(methods=("cls",)),
        declaring(steps=(Normalize(),)),
        *(declaring(steps=(Dense(torch.eye(64) * number),)) for number in (2, 3)),
        declaring(max_tokens=6),
        declaring(prompts={"query": "the dog . "}, default_prompt="query"),
    ]
    digests = {chunk.pooling_digest(one, "declared") for one in (declaring(), *changed)}
    assert (
        len(digests) == 1 + len(changed)
        and chunk.pooling_digest(declaring(), "declared") in digests
    )
    assert {chunk.pooling_digest(one, "mean") for one in changed} == {""}  # what no file declares
    ran, given = count_runs(monkeypatch), {"measures": MEASURES, "folder": tmp_path}
    for encoder, n_runs in ((declaring(), 1), (declaring(), 1), (changed[0], 2)):
        vz.corpus(encoder, sentences(2), **given)
        assert len(ran) == n_runs


def test_rows_come_in_order_from_parts_that_overlap():
    rng = np.random.default_rng(3)
    numbers = rng.permutation(90)
    parts = [
        VectorRows.of(part.tolist(), [(str(at),) for at in part], part[:, None] * 1.0)
        for part in np.split(numbers, [4, 30, 31, 60])
    ]
    found = list(in_order(sorted(parts, key=lambda part: part.items[0])))
    assert [at for part in found for at in part.items] == sorted(numbers)
    for part in found:
        assert [text for (text,) in part.texts] == [str(at) for at in part.items]
        assert part.vectors[:, 0].tolist() == part.items.tolist()
    apart = [VectorRows.of([at], [("",)], np.ones((1, 1))) for at in range(5)]
    assert [len(part.items) for part in in_order(apart)] == [1] * 5  # none waits for all
    assert not list(in_order([]))


def test_a_file_of_parts_that_end_in_any_order_is_in_the_order_of_the_items(tmp_path):
    with VectorFile(tmp_path / "vectors.parquet") as file:
        for part in ([4, 5], [3, 6], [0, 7], [1, 2]):
            texts = [(f"text {at}",) for at in part]
            file.keep(VectorRows.of(part, texts, np.array(part)[:, None] * 1.0))
        file.write("model", "mean", 2)
    rows, vectors = read(tmp_path / "vectors.parquet")
    assert rows["item"].to_pylist() == vectors[:, 0].tolist() == list(range(8))
    assert rows["text"].to_pylist() == [f"text {at}" for at in range(8)]


def test_rows_are_the_same_after_bytes_and_are_left_out_of_a_merge(grammar):
    settings = chunk.Settings(MEASURES, 0, 0.1, "mean", rows=True)
    parts = [chunk.measure_items(grammar, [at], [text], settings) for at, text in enumerate("ab")]
    again = HeadSums.from_bytes(parts[0].to_bytes())
    np.testing.assert_array_equal(again.rows.vectors, parts[0].rows.vectors)
    np.testing.assert_array_equal(again.vectors.squares, parts[0].vectors.squares)
    assert again.rows.texts == (("a",),) and again.rows.items.tolist() == [0]
    again.merge(parts[1])
    assert again.vectors.n == 2 and len(again.rows.items) == 1


def test_pictures_are_named_by_their_files(tmp_path, scene):
    (tmp_path / "pictures").mkdir()
    for name in ("digit", "wide"):
        content = asset(f"examples/{name}.png").read_bytes()
        (tmp_path / "pictures" / f"{name}.png").write_bytes(content)
    path = tmp_path / "vectors.parquet"
    vz.corpus(scene, tmp_path / "pictures", measures="statistics", vectors=path)
    rows, vectors = read(path)
    assert rows["text"].to_pylist() == ["digit.png", "wide.png"]
    trace = vz.capture(scene, tmp_path / "pictures" / "wide.png")
    wanted = vz.pool(trace.output, trace.valid, "mean").numpy()
    np.testing.assert_allclose(vectors[1], wanted, rtol=0, atol=1e-5)


def test_a_vector_of_no_numbers_is_a_failure(grammar):
    broken = replace(grammar, model=vz.load("grammar", device="cpu").model)
    broken.model.final_norm.weight.data[0] = float("nan")
    with pytest.raises(InputError, match=r"None of 2 items.*vector are not numbers"):
        vz.corpus(broken, ["the key is old", "a b"], measures=MEASURES)


def test_what_cannot_be_written_or_pooled_is_refused_before_any_run(grammar, tmp_path, monkeypatch):
    ran = count_runs(monkeypatch)
    for given, fault, message in (
        ({"vectors": tmp_path / "v.npy"}, SelectionError, "must end in .parquet"),
        ({"vectors": tmp_path / "none" / "v.parquet"}, TraceError, "cannot be written"),
        ({"pooling": "mean"}, SelectionError, "ask for it"),
        ({"vectors": tmp_path / "v.parquet", "pooling": "sum"}, SelectionError, "no pooling 'sum'"),
        ({"vectors": tmp_path / "v.parquet", "pooling": "pooler"}, SelectionError, "no pooler"),
    ):
        with pytest.raises(fault, match=message):
            vz.corpus(grammar, ["the key is old"], **given)
    with pytest.raises(SelectionError, match="at least one of the measures"):
        vz.corpus(grammar, ["the key is old"], measures="vectors")
    assert not ran
