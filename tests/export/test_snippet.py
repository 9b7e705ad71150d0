"""Snippet: executed, it gives the weights of the view it was made from, whatever the text."""

from pathlib import Path

import pytest
import torch

import viz_encoder as vz
from viz_encoder.bundled import asset
from viz_encoder.export import MapView, snippet

NASTY = 'He said """no""" and \'yes\'\\n\n{x} \\ "); import os; os._exit(3) #'
MODEL = "all-MiniLM-L6-v2"


@pytest.fixture(autouse=True)
def loaded(monkeypatch, minilm):
    """The model that is loaded already, for time's sake; any other name fails."""
    real = vz.load
    monkeypatch.setattr(vz, "load", lambda name: minilm if name == MODEL else real(name))


def ran(code: str) -> dict[str, object]:
    scope: dict[str, object] = {}
    exec(code, scope)
    return scope


@pytest.mark.parametrize("source", ["The bank", NASTY, (NASTY, "and\ta pair\u202e")])
def test_a_text_in_any_quotes(minilm, source):
    scope = ran(snippet(source, MapView(3, 5), model=MODEL))
    trace = vz.capture(minilm, source)
    assert scope["trace"].sample.texts == trace.sample.texts
    assert torch.equal(scope["weights"], trace.attention(3, 5))
    assert scope["figure"].data


@pytest.mark.parametrize("head", [5, "mean", "max", (1, 7)])
@pytest.mark.parametrize("query", [None, 2])
def test_every_kind_of_view(trace, head, query, tmp_path):
    trace.save(tmp_path / 'it\'s a "run".safetensors')
    code = snippet(tmp_path / 'it\'s a "run".safetensors', MapView(3, head), query=query)
    every = trace.attention(3)
    chosen = {5: every[5], "mean": every.mean(dim=0), "max": every.amax(dim=0)}
    whole = chosen.get(head) if head != (1, 7) else (every[1] + every[7]) / 2
    wanted = whole if query is None else whole[query]
    weights = ran(code)["weights"]
    assert weights.shape == wanted.shape and float((weights - wanted).abs().max()) <= 1e-6


def test_a_picture_by_its_path(picture):
    path = Path(asset("examples/digit.png"))
    weights = ran(snippet(path, MapView(1, 0), model="scene", query=3))["weights"]
    assert float((weights.cpu() - picture.attention(1, 0)[3]).abs().max()) <= 1e-5


def test_a_part_of_a_model_is_named():
    assert "vz.load('clip', part='text')" in snippet("a", MapView(), model="clip", part="text")
