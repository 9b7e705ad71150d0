"""The export command: one line, one whole file, plain sentences for what cannot be."""

import csv
import importlib.util

import numpy as np
import pytest

from tests.export.runs import facts_of
from viz_encoder.cli import main
from viz_encoder.errors import TraceError
from viz_encoder.export import MapView, save


@pytest.fixture
def run(trace, tmp_path):
    """A saved run, and the command on it."""
    trace.save(tmp_path / "run.safetensors")

    def command(name: str, *options: str) -> int:
        return main(
            ["export", str(tmp_path / "run.safetensors"), "-o", str(tmp_path / name), *options]
        )

    return command


def test_each_kind_of_file(run, trace, tmp_path, capsys):
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
    assert "run.safetensors" in code and "layer=3, head=5" in code
    assert run("a.html", "--query", "loan", "--model", trace.origin.model) == 0
    told = facts_of((tmp_path / "a.html").read_bytes())["explained"]
    assert told["words"] == "the length of the final state of “loan”"


@pytest.mark.parametrize(("head", "meant"), [("mean", "mean"), ("1,7", [1, 7]), ("4", 4)])
def test_heads_and_a_query_are_written_as_in_python(run, trace, tmp_path, head, meant):
    assert run("a.npz", "--head", head, "--query", trace.tokens[2]) == 0
    with np.load(tmp_path / "a.npz") as file:
        assert file["head"].tolist() == meant and file["weights"].shape == (14,)


def test_what_is_kept_and_merged(run, trace, tmp_path):
    options = ("--layer", "3", "--head", "5", "--hide-special", "--renormalize", "--words")
    assert run("a.npz", *options) == 0 and run("a.html", *options) == 0
    shown = trace.attention(3, 5).double().numpy()[1:-1, 1:-1]  # each of its words is one token
    wanted = shown / shown.sum(axis=1, keepdims=True)
    with np.load(tmp_path / "a.npz") as file:
        assert np.abs(file["weights"] - wanted).max() <= 2e-6 and "merged" in str(file["note"])
    assert "renormalize=True" in facts_of((tmp_path / "a.html").read_bytes())["snippet"]


def test_the_scale_of_the_page(run, tmp_path):
    assert run("a.html", "--scale", "log") == 0
    assert facts_of((tmp_path / "a.html").read_bytes())["scale"]["name"] == "log"


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("a.html", ["--scale", "jet"], "no color scale 'jet'"),
        ("a.csv", ["--scale", "log"], "no choice of color scale"),
        ("a.csv", ["--layer", "6"], "no layer 6"),
        ("a.html", ["--head", "12"], "no head 12"),
        ("a.html", ["--head", "1,,2"], "no head '1,,2'"),
        ("a.npz", ["--head", "9999999999999"], "no head"),
        ("a.csv", ["--query", "14"], "no query 14"),
        ("a.csv", ["--query", "cat"], "no query 'cat'; the tokens are [CLS]"),
        ("a.tiff", [], "choose one of .html, .csv"),
        ("none/a.csv", [], "cannot be written: No such file"),
        ("a.html", ["--model", "grammar"], "give the model that ran"),
    ],
)
def test_faults_are_plain_and_leave_no_file(run, tmp_path, capsys, name, options, says):
    assert run(name, *options) == 1
    assert says in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["run.safetensors"]


def test_a_fault_keeps_the_file_that_was_there(run, tmp_path):
    (tmp_path / "a.csv").write_text("before")
    assert run("a.csv", "--query", "99") == 1
    assert (tmp_path / "a.csv").read_text() == "before"


def test_without_kaleido_it_says_what_to_install(run, monkeypatch, capsys):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "kaleido" else real(name)
    )
    assert run("a.png") == 1
    assert "pip install kaleido" in capsys.readouterr().err


def test_with_kaleido_the_figure_of_the_view_is_drawn(trace, monkeypatch, tmp_path):
    import plotly.graph_objects as go

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: real("json" if name == "kaleido" else name)
    )
    drawn = []
    monkeypatch.setattr(
        go.Figure, "to_image", lambda self, **kw: (drawn.append((self, kw)), b"<svg/>")[1]
    )
    assert save(trace, tmp_path / "a.svg", MapView(3, 5)) == 6
    figure, options = drawn[0]
    assert options["format"] == "svg" and "3.5" in figure.layout.title.text

    def fails(self, **options):
        raise RuntimeError("no Chrome")

    monkeypatch.setattr(go.Figure, "to_image", fails)
    with pytest.raises(TraceError, match="could not draw"):
        save(trace, tmp_path / "a.svg", MapView())
