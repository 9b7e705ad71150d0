"""`viz-encoder export`: any view of a saved run as a file, with the options of the view."""

import csv
import json
import re

import numpy as np
import pytest

import viz_encoder as vz
from viz_encoder.analyses.rollout import rollout
from viz_encoder.cli import main
from viz_encoder.figures.options import VIEWS, read_options


@pytest.fixture(scope="module")
def saved(minilm, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run.safetensors"
    trace = vz.capture(minilm, "The bank approved the loan")
    trace.save(path)
    return path, trace


def draw(saved, tmp_path, name, *arguments):
    target = tmp_path / name
    status = main(["export", str(saved), *arguments, "-o", str(target)])
    return status, target


def test_numbers_are_those_of_the_view(saved, tmp_path):
    path, trace = saved
    given = ("rollout", "--query", "2", "--option", "fuse=max")
    expected = rollout(trace, 2, "max").rows
    assert draw(path, tmp_path, "a.csv", *given)[0] == 0
    lines = list(csv.reader((tmp_path / "a.csv").open(encoding="utf-8")))
    written = np.float32([line[1:-2] for line in lines[1:]])
    assert lines[0][-2:] == ["title", "model"]
    assert all(line[-2].startswith("Rollout of 2") for line in lines[1:])
    assert {line[-1] for line in lines[1:]} == {trace.origin.model} != {""}
    assert np.abs(written - expected).max() <= 1e-6  # a loaded run lies otherwise in memory
    assert draw(path, tmp_path, "a.npz", *given)[0] == 0
    assert np.array_equal(np.load(tmp_path / "a.npz")["z_0"], written)
    assert draw(path, tmp_path, "a.json", *given)[0] == 0
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["layout"]["title"]["text"].startswith("Rollout of 2")


def test_a_page_needs_no_network(saved, tmp_path):
    status, page = draw(
        saved[0], tmp_path, "a.html", "head_statistics", "--option", "statistic=first"
    )
    text = page.read_text(encoding="utf-8")
    assert status == 0 and "Weight on the first token by layer and head" in text
    assert not re.search('<script[^>]*src="http', text) and "plotly.js v" in text
    assert '"showSendToCloud": false' in text


def test_a_view_of_a_model_runs_it_again(tmp_path, grammar):
    text = "the keys to the cabinet [MASK] old"
    vz.capture(grammar, text).save(tmp_path / "run.safetensors")
    given = ("token_shares", "--model", "grammar", "--option", "token=6", "--option", "label=is")
    status, target = draw(tmp_path / "run.safetensors", tmp_path, "a.npz", *given)
    expected = vz.attribute(grammar, text, token=6, label="is").states
    assert status == 0
    apart = np.abs(np.load(target)["z_0"] - expected).max()
    assert apart <= 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("a.csv", ["nothing"], "There is no view 'nothing'; choose one of attention_map"),
        ("a.doc", ["rollout"], "'a.doc' has no known ending"),
        ("a.csv", ["rollout", "--option", "query"], "write it as name=value"),
        ("a.csv", ["rollout", "--option", "quary=2"], "has no option 'quary'; it has query, fuse"),
        ("a.csv", ["rollout", "--option", "query=99"], "There is no query 99"),
        ("a.csv", ["rollout", "--query", "99"], "There is no query 99"),
        ("a.csv", ["rollout", "--layer", "2"], "has no option 'layer'; it has query, fuse"),
        ("a.csv", ["--option", "fuse=max"], "is for a view, such as rollout; name one"),
        ("a.csv", ["--layer", "two"], "--layer is 'two'; it must be a whole number"),
        (
            "a.csv",
            ["routes"],
            "routes needs the model that ran; add --model all-MiniLM-L6-v2",
        ),
        ("no/folder/a.csv", ["rollout"], "cannot be written"),
    ],
)
def test_faults_are_sentences(saved, tmp_path, capsys, name, arguments, said):
    status, target = draw(saved[0], tmp_path, name, *arguments)
    assert status == 1 and said in capsys.readouterr().err and not target.exists()


def test_pictures_need_kaleido(saved, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert draw(saved[0], tmp_path, "a.png", "rollout")[0] == 1
    assert "pip install kaleido" in capsys.readouterr().err


def test_digits_may_be_a_name_and_a_share_a_number():
    given = {"label": "3", "token": "3", "least": "0.03"}
    assert read_options(VIEWS["routes"], given) == {"label": "3", "token": 3, "least": 0.03}
    several = read_options(VIEWS["attention_map"], {"head": "1,7,1", "layer": "2"})
    assert several == {"head": (1, 7), "layer": 2}
