"""The same table on real Ray: two workers, one that dies, and rows as datasets have them."""

import os
import random
import socket
import time
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

import viz_encoder as vz
from tests.corpora.test_head_sums import same, sentences
from tests.refusals import refused
from viz_encoder.corpora import Done, HeadSums, HeadTable, chunk, ray_engine
from viz_encoder.corpora.chunk import Settings
from viz_encoder.corpora.engine import HeadWorker
from viz_encoder.errors import InputError, SelectionError, VizEncoderError

MEASURES = ("statistics", "roles", "examples")
TEXTS = [*sentences(60), "", ("the key", "is old")]


def test_the_worker_takes_rows_and_gives_one(grammar):
    """As datasets.map(worker, batched=True, with_indices=True, remove_columns=…) calls it."""
    worker = HeadWorker(grammar, Settings(MEASURES, 4))
    texts = sentences(20)
    rows = [
        worker({"text": texts[at : at + 8]}, list(range(at, min(at + 8, 20)))) for at in (0, 8, 16)
    ]
    assert [row["item"] for row in rows] == [[0], [8], [16]]
    found = HeadSums.empty(4, 4, k=4)
    for row in rows:
        found.merge(HeadSums.from_bytes(row["sums"][0]))
    wanted = HeadSums.empty(4, 4, k=4)
    for at in (0, 8, 16):
        wanted.merge(
            chunk.measure_items(
                grammar, range(at, min(at + 8, 20)), texts[at : at + 8], worker.settings
            )
        )
    assert found.to_bytes() == wanted.to_bytes()
    again = worker({"text": texts[:8], "item": list(range(8))})
    assert again["sums"] == rows[0]["sums"]
    refused(InputError, "with_indices", worker, {"text": texts})


def test_the_same_worker_serves_datasets_map(grammar):
    datasets = pytest.importorskip("datasets")
    worker = HeadWorker(grammar, Settings(MEASURES, 10))
    given = datasets.Dataset.from_dict({"text": sentences(20)})
    rows = given.map(worker, batched=True, batch_size=8, with_indices=True, remove_columns=["text"])
    assert len(rows) == 3
    table = vz.corpus(grammar, given)
    found = HeadSums.empty(4, 4)
    for row in rows:
        found.merge(HeadSums.from_bytes(row["sums"]))
    same(found.finish(table.about), table, 1e-6, examples=False)


def test_the_same_worker_serves_map_in_pandas(grammar):
    """As Spark's mapInPandas calls it: an iterator of frames in, one of frames out."""
    pandas = pytest.importorskip("pandas")
    texts, read = sentences(20), []
    worker = HeadWorker(grammar, Settings(MEASURES, 10))

    def frames():
        for start in (0, 7, 14):
            read.append(start)
            part = texts[start : start + 7]
            items = range(start, start + len(part))
            yield pandas.DataFrame({"text": part, "item": items}, index=[3] * len(part))

    def heads(given):  # as docs/corpus.md has it
        for frame in given:
            yield pandas.DataFrame(worker({name: frame[name] for name in frame}))

    rows = heads(frames())
    first = next(rows)
    assert read == [0], "a partition is read frame by frame, as it is measured"
    assert list(first.columns) == ["item", "sums"] and first["item"].dtype == "int64"
    assert isinstance(first["sums"][0], bytes)  # what Spark takes as binary
    found = HeadSums.from_bytes(first["sums"][0])
    for frame in rows:
        assert len(frame) == 1
        found.merge(HeadSums.from_bytes(frame["sums"][0]))
    table = vz.corpus(grammar, texts)
    same(found.finish(table.about), table, 1e-6, examples=False)


def test_what_ray_would_ignore_is_refused(grammar):
    for given in ({"workers": 2}, {"gpus": 1}, {"address": "auto"}):
        refused(SelectionError, r'for on="ray"', vz.corpus, grammar, ["a b"], **given)
    refused(SelectionError, "local, ray", vz.corpus, grammar, ["a b"], on="spark")
    refused(SelectionError, "at least 1", vz.corpus, grammar, ["a b"], on="ray", workers=0)


def test_without_ray_the_cure_is_named(grammar, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(ray_engine, "import_module", missing)
    refused(VizEncoderError, r"viz-encoder\[ray\]", vz.corpus, grammar, ["a b"], on="ray")


class NoRay:
    """In place of Ray: objects are kept as they are, and blocks as a list."""

    @staticmethod
    def put(kept):
        return kept

    class data:
        from_arrow = list


def test_a_corpus_larger_than_the_store_runs_in_turns(grammar, local, tmp_path, monkeypatch):
    """Which Ray would do itself with what it is given at once; so Ray is not needed here."""
    turns = []

    def sums(blocks, columns, kept, settings, *rest):
        turns.append(len(blocks))
        for block in blocks:
            worker = ray_engine.ChunkWorker.__new__(ray_engine.ChunkWorker)
            HeadWorker.__init__(worker, kept, settings)
            yield HeadSums.from_bytes(worker(block.to_pydict())["sums"][0])

    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    vz.corpus(grammar, TEXTS, vectors=here)
    monkeypatch.setattr(ray_engine, "_running", lambda cluster: nullcontext(NoRay))
    monkeypatch.setattr(ray_engine, "_sums", sums)
    for most, wanted in ((10**6, [4]), (1500, [2, 2]), (1, [1, 1, 1, 1])):
        turns.clear()
        monkeypatch.setattr(ray_engine, "AT_ONCE", most)
        found = vz.corpus(grammar, TEXTS, on="ray", vectors=there)
        assert turns == wanted
        assert there.read_bytes() == here.read_bytes()
        same(found, local, 1e-12)
        assert found.failures == local.failures


class MortalWorker(ray_engine.ChunkWorker):
    """A worker whose process ends in the middle of its first chunk."""

    def __call__(self, batch, numbers=None):
        died = Path(os.environ["MORTAL_WORKER"])
        if not died.exists():
            died.touch()
            os._exit(1)
        return super().__call__(batch, numbers)


class PatientClock:
    """Ray gives up its start after 30 s, in which a busy machine may not do it: here, after 300."""

    sleep = staticmethod(time.sleep)
    time = staticmethod(time.time)

    @staticmethod
    def monotonic() -> float:
        return time.monotonic() / 10


# Of what Ray starts besides its workers, what is not asked for here; and ports of the rest, each
# of which it else waits for 15 s to be told, which a busy machine may not do.
BARE = {"no_monitor": True, "include_log_monitor": False}
PORTS = ("metrics_agent_port", "dashboard_agent_listen_port", "runtime_env_agent_port")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("", 0))
        return one.getsockname()[1]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Ray on this machine, with two CPUs; the file marks that a worker has died."""
    ray = pytest.importorskip("ray")
    from ray._private.parameter import RayParams

    died = tmp_path_factory.mktemp("ray") / "died"
    ports = {name: free_port() for name in PORTS}
    with pytest.MonkeyPatch.context() as home:
        home.setenv("HOME", str(died.parent))  # Ray keeps a token there
        # Its workers inherit them; a runtime_env would not let them take what waits.
        home.setenv("MORTAL_WORKER", str(died))
        home.setenv("RAY_prestart_worker_first_driver", "0")  # none that would go unused
        home.setenv("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ray._private.node.time", PatientClock)
            patch.setattr("ray._private.node.Node.start_api_server", lambda node, **given: None)
            patch.setattr("ray._private.parameter.RayParams", partial(RayParams, **BARE, **ports))
            try:
                ray.init(
                    num_cpus=2,
                    include_dashboard=False,
                    log_to_driver=False,
                    _metrics_export_port=free_port(),
                )
            except Exception as fault:  # Ray names no kind of its own for it
                pytest.skip(f"Ray cannot start here: {fault}")
        yield died
        ray.shutdown()


@pytest.fixture(scope="module")
def local(grammar):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk, "CHUNK_ITEMS", 16)
        yield vz.corpus(grammar, TEXTS)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(chunk, "CHUNK_ITEMS", 16)


@dataclass(frozen=True)
class Measured:
    """What one job of two workers gave, and where its parts and its vectors are."""

    table: HeadTable
    said: list[Done]
    parts: Path
    vectors: Path


ALL = (*MEASURES, "vectors")


@pytest.fixture(scope="module")
def measured(grammar, cluster, tmp_path_factory):
    """The corpus on two workers, one of which dies: started once, for that takes the longest."""
    folder, said = tmp_path_factory.mktemp("measured"), []
    parts, vectors = folder / "parts", folder / "vectors.parquet"
    where = {"on": "ray", "workers": 2, "folder": parts, "vectors": vectors}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk, "CHUNK_ITEMS", 16)
        patch.setattr(ray_engine, "ChunkWorker", MortalWorker)
        table = vz.corpus(grammar, TEXTS, measures=ALL, **where, progress=said.append)
    assert cluster.exists()  # one did die
    return Measured(table, said, parts, vectors)


def test_two_workers_one_of_which_dies_give_the_same_table(grammar, measured, local):
    same(measured.table, local, 1e-12)
    assert measured.table.failures == local.failures and measured.said[-1].n == len(TEXTS)
    assert len(list(measured.parts.glob("part-*.npz"))) == 4


def test_the_parts_of_the_workers_serve_any_engine(grammar, measured, local, tmp_path):
    vectors, said = tmp_path / "again.parquet", []
    where = {"folder": measured.parts, "vectors": vectors}
    again = vz.corpus(grammar, TEXTS, measures=ALL, **where, progress=said.append)
    same(again, local, 1e-12)
    assert said[-1].resumed == len(TEXTS)
    assert vectors.read_bytes() == measured.vectors.read_bytes()


def test_the_vectors_come_back_in_the_order_of_the_texts(grammar, measured, tmp_path):
    vz.corpus(grammar, TEXTS, measures=ALL, vectors=tmp_path / "here.parquet")
    assert measured.vectors.read_bytes() == (tmp_path / "here.parquet").read_bytes()


def test_a_dataset_of_ray_is_read_by_its_workers_whatever_its_order(grammar, cluster, tmp_path):
    import ray

    paths = [tmp_path / f"{name}.parquet" for name in ("dataset", "here")]
    rows = [{"item": at, "body": one} for at, one in enumerate(TEXTS[:40])]
    random.Random(2).shuffle(rows)
    given = ray.data.from_items(rows, override_num_blocks=4)
    table = vz.corpus(grammar, given, vectors=paths[0], on="ray", workers=2, column="body")
    same(table, vz.corpus(grammar, TEXTS[:40], vectors=paths[1]), 1e-6, examples=False)
    found, wanted = map(parquet.read_table, paths)
    assert found.drop(["vector"]) == wanted.drop(["vector"])
    vectors = [np.array(each["vector"].to_pylist()) for each in (found, wanted)]
    np.testing.assert_allclose(*vectors, rtol=0, atol=1e-6)
    faults = InputError, SelectionError
    for rows, says, options in (
        (given, "no column 'text'; its columns are", {}),
        (given, "cannot be resumed", {"folder": "parts"}),
        ([[4, 5, 6]], "cannot be sent", {}),
    ):
        refused(faults, says, vz.corpus, grammar, rows, on="ray", workers=1, **options)
