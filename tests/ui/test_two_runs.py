"""Two runs compared, by routes and named endpoints: what the analyses find, and what is refused."""

import csv
import io
import json
from urllib.parse import unquote

import httpx
import numpy as np
import pytest
from gradio_client.exceptions import AppError

import viz_encoder as vz
from tests.by_hand import kept, whole_maps
from viz_encoder.analyses.change import layer_change
from viz_encoder.analyses.compare import compare

START = "The animal didn't cross the street because it was too "
TEXTS = {last: START + last for last in ("tired", "wide", "really exhausted")}
OTHER = "Birds sing"  # has no word of the others
IT, ANIMAL = 10, 2
GONE = 410


@pytest.fixture(scope="module")
def keys(client):
    """Runs by their last word, one of no word of theirs, and one of another model."""
    runs = {last: client.predict(text, api_name="/run_text") for last, text in TEXTS.items()}
    runs["other"] = client.predict(OTHER, api_name="/run_text")
    runs["grammar"] = client.predict("the keys are old", "", "grammar", api_name="/run_text")
    return {name: run["key"] for name, run in runs.items()}


@pytest.fixture(scope="module")
def traces(minilm):
    return {last: vz.capture(minilm, text) for last, text in TEXTS.items()}


@pytest.fixture
def ask(site, keys):
    """What a route says of two runs, each by its last word, or by what is no key."""

    def get(now, was, path="compared", **given):
        asked = {"reference": keys.get(was, was), **given}
        return httpx.get(f"{site}viz/run/{keys.get(now, now)}/{path}", params=asked, timeout=60)

    return get


@pytest.fixture
def causal(client, keys):
    """The run of one text with a causal mask."""
    rows = ["1" * (row + 1) + "0" * (14 - row) for row in range(15)]
    return client.predict(keys["tired"], rows, api_name="/mask_run")["run"]["key"]


def test_the_change_of_a_layer_is_that_of_the_analysis(ask, client, keys, traces):
    expected = layer_change(traces["wide"], traces["tired"], 4).heads
    answer = ask("wide", "tired", "change", layer=4)
    assert answer.status_code == 200 and answer.headers["cache-control"].startswith("private")
    assert answer.json() == pytest.approx(expected.tolist(), abs=2e-6)
    named = client.predict(keys["wide"], keys["tired"], 4, api_name="/change")
    assert named == answer.json()
    longer = compare(traces["really exhausted"], traces["tired"]).layer(4)
    found = ask("really exhausted", "tired", "change", layer=4).json()
    assert found == pytest.approx(longer.tolist(), abs=2e-6)


def test_the_change_of_what_is_shown(ask, traces):
    """Special tokens hidden, rows divided by their sums: by place, or on the tokens of both."""
    switches = {"hide_special": True, "renormalize": True}
    maps = []
    for last in ("wide", "tired"):
        at = kept(traces[last], special=False)
        part = whole_maps(traces[last])[4][:, at][:, :, at]
        maps.append(part / part.sum(axis=2, keepdims=True))
    expected = (abs(maps[0] - maps[1]).sum(axis=2) / 2).mean(axis=1)
    found = ask("wide", "tired", "change", layer=4, **switches).json()
    assert found == pytest.approx(expected.tolist(), abs=2e-5)
    cell = ask("wide", "tired", query=IT, key=ANIMAL, **switches).json()["cell"]
    assert cell["now"][4] == pytest.approx(maps[0][:, IT - 1, ANIMAL - 1].tolist(), abs=2e-5)
    assert ask("wide", "other", "change", layer=4, **switches).json() == [None] * 12


def test_a_comparison_is_that_of_the_analysis(ask, client, keys, traces):
    answer = ask("wide", "tired", query=IT, key=ANIMAL)
    assert answer.status_code == 200 and answer.headers["cache-control"].startswith("private")
    found, both = answer.json(), compare(traces["wide"], traces["tired"])
    assert found["cell"]["now"][3][1] == pytest.approx(0.266, abs=5e-4)
    assert found["cell"]["was"][3][1] == pytest.approx(0.640, abs=5e-4)
    assert found["heads"][0] == [3, 1, pytest.approx(-0.374, abs=5e-4)]
    assert found["why"] == "" and found["by"] == "tokens"
    np.testing.assert_allclose(found["row"], both.row(IT), atol=2e-6)
    named = client.predict(keys["wide"], keys["tired"], IT, ANIMAL, api_name="/compared")
    assert named == found
    found = ask("really exhausted", "tired", query=IT).json()
    assert found["aligned"] == [*([at, at] for at in range(13)), [15, 14]]
    assert (found["only_here"], found["only_there"]) == ([13, 14], [13])
    assert found["cell"] is None and found["heads"][0][2] == np.max(found["row"])
    every = ask("really exhausted", "tired").json()
    ranked = compare(traces["really exhausted"], traces["tired"]).heads()
    assert every["row"] is None and len(every["heads"]) == 72
    first = ranked[0]
    assert every["heads"][0] == [first.layer, first.head, pytest.approx(first.change, abs=2e-6)]


def test_the_signed_map_lies_over_this_runs_tokens(ask, traces):
    pair = "really exhausted", "tired", "compared_map"
    answer = ask(*pair, layer=3, head=1)
    values = np.frombuffer(answer.content, "<f4").reshape(16, 16)
    assert answer.headers["x-shape"] == "16,16" and answer.headers["x-step"] == "1,1"
    now, was = traces["really exhausted"].attention(3, 1), traces["tired"].attention(3, 1)
    assert values[15, 15] == pytest.approx(float(now[15, 15] - was[14, 14]), abs=1e-6)
    assert np.isnan(values[[13, 14]]).all() and np.isnan(values).sum() == 2 * 16 + 2 * 14
    about = {"rows": [13, 14], "keys": [13, 14]}
    assert json.loads(unquote(answer.headers["x-about"])) == about
    inner = ask(*pair, layer=3, head=1, hide_special=True, rows="9:14", keys="1:3")
    part = np.frombuffer(inner.content, "<f4").reshape(5, 2)  # [CLS] is left out: one place less
    np.testing.assert_allclose(part[:3], values[10:13, 2:4], rtol=0, atol=1e-6)
    assert np.isnan(part[3:]).all()
    assert json.loads(unquote(inner.headers["x-about"])) == {"rows": [12, 13], "keys": []}
    small = ask(*pair, layer=3, head="mean", rows="2:12", keys="0:9", size=5)
    assert small.headers["x-shape"] == "5,5" and small.headers["x-step"] == "2,2"


def test_the_signed_maps_of_a_layer_are_those_of_its_heads(ask):
    """At these lengths no cell is pooled, so that each is its head's own map."""
    for switches in ({}, {"hide_special": True, "renormalize": True}):
        answer = ask("really exhausted", "tired", "compared_maps", layer=3, **switches)
        shape = [int(side) for side in answer.headers["x-shape"].split(",")]
        every = np.frombuffer(answer.content, "<f4").reshape(shape)
        assert shape == [12, *[14 if switches else 16] * 2]
        one = ask("really exhausted", "tired", "compared_map", layer=3, head=7, **switches)
        found = np.frombuffer(one.content, "<f4")
        assert np.array_equal(found, every[7].ravel(), equal_nan=True)


def table(answer):
    return list(csv.reader(io.StringIO(answer.text)))


def test_the_table_of_a_change_is_exact_and_empty_where_there_is_none(ask, traces, causal):
    answer = ask("really exhausted", "tired", "compared_map/csv", layer=3, head=1)
    assert "-3.1-change.csv" in answer.headers["content-disposition"]
    header, *lines = table(answer)
    assert header[:5] == ["query", "query_token", "model", "map", "key 0: [CLS]"]
    assert len(lines) == 16 and lines[IT][:2] == [str(IT), "it"]
    name = "“The animal didn't cross t…t was too tired”"
    assert {line[3] for line in lines} == {f"layer 3, head 1, change from {name}"}
    assert {line[2] for line in lines} == {traces["tired"].origin.model}
    now, was = (traces[last].attention(3, 1).numpy() for last in ("really exhausted", "tired"))
    here, there = [*range(13), 15], [*range(13), 14]
    for at, before in zip(here, there, strict=True):
        found = np.array(lines[at][4:], object)[here].astype(np.float32)
        assert np.array_equal(found, now[at, here] - was[before, there])
    assert set(lines[13][4:] + lines[14][4:]) == {""}
    assert {cell for line in lines for cell in line[17:19]} == {""}
    _, *lines = table(ask(causal, "tired", "compared_map/csv", layer=3, head=1))
    for row, line in enumerate(lines):
        assert [cell == "" for cell in line[4:]] == [at > row for at in range(15)]


def test_the_table_of_a_change_has_what_is_shown(ask, traces):
    shown = {"head": "1,4", "hide_special": True, "renormalize": True}
    answer = ask("wide", "tired", "compared_map/csv", layer=3, **shown)
    stem = "-3.1-4-change-no-special-renormalized.csv"
    assert stem in answer.headers["content-disposition"]
    _, *lines = table(answer)
    both = []
    for last in ("wide", "tired"):
        part = whole_maps(traces[last])[3, [1, 4]].mean(axis=0)[1:14, 1:14]
        both.append(part / part.sum(axis=1, keepdims=True))
    found = np.array([[float(cell) for cell in line[4:16]] for line in lines[:12]])
    np.testing.assert_allclose(found, (both[0] - both[1])[:12, :12], atol=2e-6)
    assert lines[0][3].endswith("too tired”; special tokens hidden; rows renormalized")


def test_what_cannot_be_compared_is_said(ask, client, keys, causal):
    other = ask("tired", "grammar", query=1, key=1).json()
    assert "4 layers × 4 heads" in other["why"] and other["aligned"]
    assert other["cell"] is other["row"] is None and other["heads"] == []
    alone = ask("wide", "tired", query=IT, key=13).json()
    replaced = "“wide” takes the place of “tired” in the reference. "
    assert alone["why"] == f"{replaced}Weights are compared between equal tokens only."
    assert alone["cell"]["was"][3][1] is None and alone["cell"]["now"][3][1] > 0
    assert alone["heads"] == [] and alone["row"][3][1] > 0.1
    longer = ask("really exhausted", "tired", query=IT, key=13).json()
    assert longer["why"].startswith("“really” has no counterpart in the reference")
    masked = ask(causal, "tired", query=2, key=9).json()
    assert masked["why"].startswith("A mask forbids this pair")
    assert masked["cell"]["now"][3][1] is None and masked["cell"]["was"][3][1] > 0


@pytest.mark.parametrize(
    ("now", "was", "path", "given", "says"),
    [
        ("tired", "grammar", "change", {"layer": 0}, "has 4 layers and this run has 6"),
        ("tired", "grammar", "compared_map", {"layer": 0, "head": 0}, "heads have no counterparts"),
        ("tired", "nonsense", "change", {"layer": 0}, "The reference has expired"),
        ("nonsense", "tired", "change", {"layer": 0}, "This run has expired"),
        ("tired", "tired", "change", {"layer": 6}, "There is no layer 6; choose 0 to 5"),
        ("wide", "tired", "compared", {"query": 99}, "There is no query 99"),
        ("wide", "tired", "compared", {"key": 3}, "without a query"),
    ],
)
def test_what_is_not_there_is_said(ask, client, keys, now, was, path, given, says):
    answer = ask(now, was, path, **given)
    assert answer.status_code == (GONE if now == "nonsense" else 404)
    assert says in answer.json()["message"]
    if path != "compared_map" and "key" not in given:
        runs = (keys.get(name, name) for name in (now, was))
        with pytest.raises(AppError, match=says):
            client.predict(*runs, **given, api_name=f"/{path}")
