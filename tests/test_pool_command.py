"""The pool command: one line, one whole file, plain sentences for what cannot be."""

import csv
import importlib.util

import numpy as np
import pytest

import viz_encoder as vz
from viz_encoder.bundled import asset
from viz_encoder.cli import main


@pytest.fixture
def run(tmp_path):
    """The command on three texts."""
    (tmp_path / "texts.txt").write_text("one text\nanother, longer text of more words\n\nthird\n")

    def command(name: str, *options: str) -> int:
        given = ["pool", str(tmp_path / "texts.txt"), "--device", "cpu"]
        return main([*given, "-o", str(tmp_path / name), *options])

    return command


def test_the_line_of_the_readme(run, minilm, tmp_path, capsys):
    assert run("out.csv", "--methods", "mean,cls", "--states", "-1") == 0
    assert "3 items, by mean, cls, after 6 blocks" in capsys.readouterr().out
    rows = list(csv.reader((tmp_path / "out.csv").open(encoding="utf-8", newline="")))[1:]
    trace = vz.capture(minilm, "another, longer text of more words")
    for row in rows:
        assert row[5] == "all-MiniLM-L6-v2"
        if row[2] == "1":
            wanted = vz.pool(trace.output, trace.valid, row[0]).numpy()
            assert np.abs(np.array(row[6:], np.float32) - wanted).max() <= 5e-6
    assert [row[:3] for row in rows] == [
        [m, "6", str(i)] for m in ("mean", "cls") for i in range(3)
    ]


def test_the_models_own_pooling_is_the_default_and_is_named(run, minilm, tmp_path, capsys):
    assert run("out.npz") == 0
    said = "by declared (the model's own: mean, then normalized to length 1), after 6 blocks"
    assert said in capsys.readouterr().out
    trace = vz.capture(minilm, "third")
    mean = trace.output.mean(dim=0).numpy()
    with np.load(tmp_path / "out.npz") as file:
        assert file["methods"].tolist() == ["declared"]
        found = file["vectors_declared"][0, 2]
    assert np.abs(found - mean / np.linalg.norm(mean)).max() <= 1e-6
    assert run("out.npz", "--model", "grammar") == 0
    assert "by mean (the model declares none), after" in capsys.readouterr().out


@pytest.mark.parametrize("layers", [["--states=-2,-1"], ["--states", "-2,-1"], ["--states", "5,6"]])
def test_layers_are_counted_from_either_end(layers, run, tmp_path):
    assert run("out.npz", *layers) == 0
    with np.load(tmp_path / "out.npz") as file:
        assert file["states"].tolist() == [5, 6]


def test_every_layer_and_method(run, tmp_path):
    assert run("out.npz", "--methods", "all", "--states", "all") == 0
    with np.load(tmp_path / "out.npz") as file:
        assert file["states"].tolist() == [*range(7)] and "pooler" in file["methods"]
    assert run("out.parquet", "--states=-2,-1") == 0


def test_the_table_is_printed_and_written(tmp_path, capsys):
    source, table = asset("examples/sets/topics.csv"), tmp_path / "table.csv"
    given = ["pool", str(source), "-o", str(tmp_path / "a.npz"), "--methods", "mean,cls"]
    assert main([*given, "--table", str(table), "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["method", "state", "silhouette", "centroid", "recall@1"]
    assert lines[1].split()[:2] == ["mean", "6"] and lines[2].split()[:2] == ["cls", "6"]
    assert len(table.read_text().splitlines()) == 3


def test_without_pyarrow_it_says_what_to_install(run, monkeypatch, capsys):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pyarrow" else real(name)
    )
    assert run("a.arrow") == 1
    assert "pip install pyarrow" in capsys.readouterr().err
