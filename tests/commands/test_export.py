"""`viz-encoder export`: a map or any other view of a saved run as one whole file, or a sentence."""

import csv
import importlib.util
import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest

import viz_encoder as vz
from tests.export.runs import facts_of
from tests.refusals import refused
from viz_encoder.analyses.rollout import rollout
from viz_encoder.cli import main
from viz_encoder.errors import TraceError
from viz_encoder.export import MapView, save
from viz_encoder.figures.options import VIEWS, read_options

RUN = "run.safetensors"


@pytest.fixture(scope="module")
def trace(minilm):
    """Fourteen tokens, each word one token."""
    return vz.capture(minilm, "The bank approved the loan, because it trusted the old man")


@pytest.fixture
def run(trace, tmp_path):
    """A saved run, and the command on it."""
    trace.save(tmp_path / RUN)
    return lambda name, *given: main(
        ["export", str(tmp_path / RUN), *given, "-o", str(tmp_path / name)]
    )


def test_each_kind_of_file_of_a_map(run, trace, tmp_path, capsys):
    no_use = ("--model", "grammar")  # which ran no such run; only a page tells how it got there
    for name, *more in (("a.html",), ("a.csv", *no_use), ("a.npz", *no_use)):
        assert run(name, "--layer", "3", "--head", "5", *more) == 0
        said = capsys.readouterr().out
        assert f"{(tmp_path / name).stat().st_size:,} bytes" in said and "that ran" in said
    wanted = trace.attention(3, 5).numpy()
    assert (np.load(tmp_path / "a.npz")["weights"] == wanted).all()
    rows = list(csv.reader((tmp_path / "a.csv").open(encoding="utf-8", newline="")))
    assert np.float32(rows[3][4]) == wanted[2, 0]
    code = facts_of((tmp_path / "a.html").read_bytes())["snippet"]
    assert RUN in code and "layer=3, head=5" in code
    given = ("--query", "loan", "--model", trace.origin.model, "--scale", "log")
    assert run("a.html", *given) == 0
    told = facts_of((tmp_path / "a.html").read_bytes())
    assert told["explained"]["words"] == "the length of the final state of “loan”"
    assert told["scale"]["name"] == "log"


@pytest.mark.parametrize(("head", "meant"), [("mean", "mean"), ("1,7", [1, 7]), ("4", 4)])
def test_heads_and_a_query_are_written_as_in_python(run, trace, tmp_path, head, meant):
    assert run("a.npz", "--head", head, "--query", trace.tokens[2]) == 0
    with np.load(tmp_path / "a.npz") as file:
        assert file["head"].tolist() == meant and file["weights"].shape == (14,)


def test_what_is_kept_and_merged(run, trace, tmp_path):
    options = ("--layer", "3", "--head", "5", "--hide-special", "--renormalize", "--words")
    assert run("a.npz", *options) == 0 and run("a.html", *options) == 0
    shown = trace.attention(3, 5).double().numpy()[1:-1, 1:-1]
    wanted = shown / shown.sum(axis=1, keepdims=True)
    with np.load(tmp_path / "a.npz") as file:
        assert np.abs(file["weights"] - wanted).max() <= 2e-6 and "merged" in str(file["note"])
    assert "renormalize=True" in facts_of((tmp_path / "a.html").read_bytes())["snippet"]


def test_each_kind_of_file_of_a_view(run, trace, tmp_path):
    given = ("rollout", "--query", "2", "--option", "fuse=max")
    for kind in ("csv", "npz", "json", "html"):
        assert run(f"a.{kind}", *given) == 0
    lines = list(csv.reader((tmp_path / "a.csv").open(encoding="utf-8")))
    written = np.float32([line[1:-2] for line in lines[1:]])
    assert lines[0][-2:] == ["title", "model"]
    assert all(line[-2].startswith("Rollout of 2") for line in lines[1:])
    assert {line[-1] for line in lines[1:]} == {trace.origin.model} != {""}
    # A loaded run lies otherwise in memory.
    assert np.abs(written - rollout(trace, 2, "max").rows).max() <= 1e-6
    assert np.array_equal(np.load(tmp_path / "a.npz")["z_0"], written)
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["layout"]["title"]["text"].startswith("Rollout of 2")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Rollout of 2" in page and "plotly.js v" in page  # it needs no network
    assert not re.search('<script[^>]*src="http', page) and '"showSendToCloud": false' in page


def test_a_view_of_a_model_runs_it_again(run, tmp_path, grammar):
    text = "the keys to the cabinet [MASK] old"
    vz.capture(grammar, text).save(tmp_path / RUN)
    given = ("token_shares", "--model", "grammar", "--option", "token=6", "--option", "label=is")
    assert run("a.npz", *given) == 0
    expected = vz.attribute(grammar, text, token=6, label="is").states
    apart = np.abs(np.load(tmp_path / "a.npz")["z_0"] - expected).max()
    assert apart <= 1e-6 * np.abs(expected).max()


FAULTS = [
    ("a.html", "--scale jet", "no color scale 'jet'"),
    ("a.csv", "--scale log", "no choice of color scale"),
    ("a.csv", "--layer 6", "no layer 6"),
    ("a.csv", "--layer two", "--layer is 'two'; it must be a whole number"),
    ("a.html", "--head 12", "no head 12"),
    ("a.html", "--head 1,,2", "no head '1,,2'"),
    ("a.npz", "--head 9999999999999", "no head"),
    ("a.csv", "--query 14", "no query 14"),
    ("a.csv", "--query cat", "no query 'cat'; the tokens are [CLS]"),
    ("a.tiff", "", "choose one of .html, .csv"),
    ("none/a.csv", "", "cannot be written: No such file"),
    ("a.html", "--model grammar", "give the model that ran"),
    ("a.csv", "nothing", "There is no view 'nothing'; choose one of attention_map"),
    ("a.doc", "rollout", "'a.doc' has no known ending"),
    ("a.csv", "rollout --option query", "write it as name=value"),
    ("a.csv", "rollout --option quary=2", "has no option 'quary'; it has query, fuse"),
    ("a.csv", "rollout --option query=99", "There is no query 99"),
    ("a.csv", "rollout --query 99", "There is no query 99"),
    ("a.csv", "rollout --layer 2", "has no option 'layer'; it has query, fuse"),
    ("a.csv", "--option fuse=max", "is for a view, such as rollout; name one"),
    ("a.csv", "routes", "routes needs the model that ran; add --model all-MiniLM-L6-v2"),
]


def test_faults_are_plain_and_leave_the_files_as_they_were(run, tmp_path, capsys):
    for name, given, says in FAULTS:
        assert run(name, *given.split()) == 1
        assert says in capsys.readouterr().err, (name, given)
        assert [path.name for path in tmp_path.iterdir()] == [RUN], (name, given)
    (tmp_path / "a.csv").write_text("before")
    assert run("a.csv", "--query", "99") == 1
    assert (tmp_path / "a.csv").read_text() == "before"


def known(monkeypatch, **others):
    """Let importlib find in place of a library what is named; None where it is not installed."""
    real = importlib.util.find_spec
    found = lambda name: others[name] if name in others else real(name)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", found)


def test_pictures_are_drawn_by_kaleido(run, trace, monkeypatch, tmp_path, capsys):
    known(monkeypatch, kaleido=None)
    for view in ((), ("rollout",)):
        assert run("a.png", *view) == 1
        assert "pip install kaleido" in capsys.readouterr().err
    known(monkeypatch, kaleido=importlib.util.find_spec("json"))
    drawn = []
    to_image = lambda self, **kw: (drawn.append((self, kw)), b"<svg/>")[1]  # noqa: E731
    monkeypatch.setattr(go.Figure, "to_image", to_image)
    assert save(trace, tmp_path / "a.svg", MapView(3, 5)) == 6
    figure, options = drawn[0]
    assert options["format"] == "svg" and "3.5" in figure.layout.title.text
    monkeypatch.setattr(go.Figure, "to_image", lambda self, **options: 1 / 0)
    refused(TraceError, "could not draw", save, trace, tmp_path / "a.svg", MapView())


def test_digits_may_be_a_name_and_a_share_a_number():
    given = {"label": "3", "token": "3", "least": "0.03"}
    assert read_options(VIEWS["routes"], given) == {"label": "3", "token": 3, "least": 0.03}
    several = read_options(VIEWS["attention_map"], {"head": "1,7,1", "layer": "2"})
    assert several == {"head": (1, 7), "layer": 2}
