"""Runs with numbers or names that no model gives: finite JSON, or a plain sentence."""

import json
from dataclasses import replace

import pytest
import torch
from fastapi import FastAPI
from fastapi.testclient import TestClient

import viz_encoder as vz
from tests.ui.reruns import put
from viz_encoder.errors import TooLong
from viz_encoder.figures.options import VIEWS
from viz_encoder.ui.serve import add_routes
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.state.readable import MAX_NAME
from viz_encoder.ui.state.recipe import Recipe
from viz_encoder.ui.state.run_description import describe
from viz_encoder.ui.state.runner import MAX_MAPS, Runner, require_showable
from viz_encoder.ui.state.store import Entry, TraceStore
from viz_encoder.ui.tabs.explore import routes

PATHS = (
    *("statistics?layer=0", "proof", "thumbnails?layer=0", "map?layer=0&head=mean"),
    *("row?layer=0&head=0&query=1", "picture.png", "thumbnails?layer=0&reduce=mean"),
)


@pytest.fixture(scope="module")
def trace(minilm):
    return vz.capture(minilm, "A short one")


@pytest.fixture
def store():
    return TraceStore()


@pytest.fixture
def client(store):
    app = FastAPI()
    add_routes(app, Runner(Models("cpu"), store))
    return TestClient(app)


def changed(trace, part, value):
    """The run with one part of its first layer replaced."""
    layer = replace(trace.layers[0], **{part: value})
    return replace(trace, layers=(layer, *trace.layers[1:]))


def refuse(constant):
    raise AssertionError(f"{constant} is no JSON")


DAMAGES = {
    "NaN queries": lambda t: changed(t, "q", torch.full_like(t.layers[0].q, torch.nan)),
    "infinite keys": lambda t: changed(t, "k", torch.full_like(t.layers[0].k, torch.inf)),
    "NaN values": lambda t: changed(t, "v", torch.full_like(t.layers[0].v, torch.nan)),
    "a NaN signature": lambda t: changed(
        t, "signature", torch.full_like(t.layers[0].signature, torch.nan)
    ),
    "a huge scale": lambda t: changed(t, "scale", 3e38),
    "only padding": lambda t: replace(t, valid=torch.zeros_like(t.valid)),
    "a picture of no kind": lambda t: replace(
        t, sample=replace(t.sample, picture=torch.zeros(2, 2).numpy())
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("path", PATHS)
def test_every_route_answers(client, store, trace, damage, path):
    answer = client.get(f"/viz/run/{put(store, DAMAGES[damage](trace))}/{path}")
    assert answer.status_code in (200, 404, 422)
    if answer.headers["content-type"] == "application/json":
        content = json.loads(answer.text, parse_constant=refuse)
        assert answer.status_code == 200 or content["message"].endswith(".")


def test_what_nobody_foresaw_is_a_sentence_once(client, store, trace, monkeypatch):
    path = f"/viz/run/{put(store, trace)}/statistics?layer=0"
    with monkeypatch.context() as patch:
        patch.setattr(routes, "finite", lambda values: 1 / 0)
        answer = client.get(path)
    assert answer.status_code == 422 and "could not be computed" in answer.json()["message"]
    assert client.get(path).status_code == 200


def test_a_name_is_cut_in_its_middle(trace):
    names = ("x" * 200_000, "a" + "\u200b" * 200_000 + "b", "\ud800", *trace.tokens[3:])
    sample = replace(trace.sample, tokens=names, notes=("n" * 10**6,) * 200)
    cut = replace(trace, sample=sample)
    told = describe("key", Entry(cut, Recipe.of_saved(cut)), "")
    assert told["tokens"][0] == "x" * 39 + "…" + "x" * 39
    assert told["tokens"][1].startswith("a⟨U+200B⟩") and told["tokens"][1].endswith("b")
    assert told["tokens"][2] == "⟨U+D800⟩" and told["tokens"][3:] == list(trace.tokens[3:])
    assert max(map(len, told["tokens"])) <= MAX_NAME * len("⟨U+200B⟩")
    assert sum(map(len, told["notes"])) < 100_000


def test_more_heads_than_a_page_holds_are_refused(trace):
    layer = trace.layers[0]
    many = MAX_MAPS // layer.n_heads + 1
    with pytest.raises(TooLong, match="the page shows up to"):
        require_showable(replace(trace, layers=(layer,) * many))


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_every_view_draws_tokens_that_have_no_utf8(store, client, minilm, trace, name):
    tokens = (*trace.tokens[:2], "a\ud800b", *trace.tokens[3:])
    broken = replace(trace, sample=replace(trace.sample, tokens=tokens, texts=("A \ud800 one",)))
    key = put(store, broken, minilm, minilm.read("A short one"))
    for kind in ("", ".csv", ".npz"):
        answer = client.get(f"/viz/run/{key}/figure/{name}{kind}")
        known = answer.status_code == 404 and json.loads(answer.content)["message"]
        assert answer.status_code == 200 or "head" in known or "pictures" in known
