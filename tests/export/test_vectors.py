"""Pooled vectors in files: read back by other readers, they are the same bits."""

import csv
import importlib.util

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from viz_encoder.analyses.collection import collection
from viz_encoder.errors import SelectionError, TraceError
from viz_encoder.export.vectors import save_table, save_vectors
from viz_encoder.inputs.items import Item

ITEMS = (
    Item("=1+1", "sums"), Item("two, and \u201cthree\u201d", "sums"), Item("the sea", "water"),
    Item("a river", "water"),
)  # fmt: skip


@pytest.fixture(scope="module")
def found(minilm):
    return collection(minilm, ITEMS, methods=["mean", "cls_mean"], states=[2, -1])


def test_csv(found, tmp_path):
    size = save_vectors(found, tmp_path / "a.csv")
    assert size == (tmp_path / "a.csv").stat().st_size
    header, *rows = csv.reader((tmp_path / "a.csv").open(encoding="utf-8", newline=""))
    assert header[:7] == ["method", "blocks", "item", "text", "label", "model", "0"]
    assert len(header) == 6 + 768 and len(rows) == 2 * 2 * 4
    for method, layer, item, text, label, model, *cells in rows:
        assert model == "all-MiniLM-L6-v2"
        kept = np.array([cell for cell in cells if cell], dtype=np.float32)
        assert (kept == found.of(method, int(layer))[int(item)]).all()
        assert text.removeprefix("'") == ITEMS[int(item)].source
        assert label == ITEMS[int(item)].label
    assert rows[0][3] == "'=1+1"


def test_npz(found, tmp_path):
    save_vectors(found, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as file:
        assert file["states"].tolist() == [2, 6] and file["methods"].tolist() == [
            "mean",
            "cls_mean",
        ]
        assert (file["vectors_mean"] == found.vectors["mean"]).all()
        assert file["vectors_cls_mean"].shape == (2, 4, 768)
        assert file["texts"].tolist() == [item.source for item in ITEMS]
        assert file["labels"].tolist() == ["sums", "sums", "water", "water"]


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_arrow_and_parquet(found, tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    save_vectors(found, path)
    table = parquet.read_table(path) if kind == "parquet" else pa.ipc.open_file(path).read_all()
    assert table.schema.field("vector").type.value_type == pa.float32()
    assert table.schema.metadata[b"model"] == b"all-MiniLM-L6-v2"
    rows = table.to_pylist()
    assert len(rows) == 16
    for row in rows:
        vector = np.array(row["vector"], dtype=np.float32)
        assert (vector == found.of(row["method"], row["blocks"])[row["item"]]).all()
        item = ITEMS[row["item"]]
        assert (row["text"], row["label"]) == (item.source, item.label)


def test_the_table(found, tmp_path):
    rows = found.table()
    save_table(rows, tmp_path / "t.csv")
    read = list(csv.DictReader((tmp_path / "t.csv").open(encoding="utf-8", newline="")))
    assert [row["method"] for row in read] == [row.method for row in rows]
    assert [float(row["silhouette"]) for row in read] == [row.silhouette for row in rows]


def test_faults_are_plain_and_leave_no_file(found, tmp_path, monkeypatch):
    with pytest.raises(SelectionError, match=r"choose one of \.csv, \.npz, \.arrow"):
        save_vectors(found, tmp_path / "a.txt")
    with pytest.raises(SelectionError, match=r"must end in \.csv"):
        save_table(found.table(), tmp_path / "a.txt")
    with pytest.raises(TraceError, match="cannot be written"):
        save_vectors(found, tmp_path / "none" / "a.csv")
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pyarrow" else real(name)
    )
    with pytest.raises(TraceError, match=r"pip install pyarrow, or choose \.csv"):
        save_vectors(found, tmp_path / "a.parquet")
    assert not list(tmp_path.iterdir())
