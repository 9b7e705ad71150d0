"""Two runs compared, by the routes and the named endpoint: numbers by numpy over whole maps."""

import csv
import io
import json
from urllib.parse import unquote

import httpx
import numpy as np
import pytest
from gradio_client.exceptions import AppError

import viz_encoder as vz

START = "The animal didn't cross the street because it was too "
TEXTS = {last: START + last for last in ("tired", "wide", "really exhausted")}


@pytest.fixture(scope="module")
def keys(client):
    """Runs by their last word, and one of another model."""
    found = {
        last: client.predict(text, api_name="/run_text")["key"] for last, text in TEXTS.items()
    }
    found["grammar"] = client.predict("the keys are old", "", "grammar", api_name="/run_text")[
        "key"
    ]
    return found


@pytest.fixture(scope="module")
def traces(minilm):
    return {last: vz.capture(minilm, text) for last, text in TEXTS.items()}


def ask(site, key, reference, more="", path="compared"):
    return httpx.get(f"{site}viz/run/{key}/{path}?reference={reference}{more}", timeout=60)


def test_the_cell_is_told_now_and_before(site, client, keys, traces):
    it, animal = (traces["wide"].tokens.index(word) for word in ("it", "animal"))
    answer = ask(site, keys["wide"], keys["tired"], f"&query={it}&key={animal}")
    assert answer.status_code == 200 and answer.headers["cache-control"].startswith("private")
    found = answer.json()
    assert found["cell"]["now"][3][1] == pytest.approx(0.266, abs=5e-4)
    assert found["cell"]["was"][3][1] == pytest.approx(0.640, abs=5e-4)
    assert found["heads"][0] == [3, 1, pytest.approx(-0.374, abs=5e-4)]
    assert found["why"] == "" and found["by"] == "tokens"
    now, was = (
        np.stack([traces[last].attention(layer)[:, it].numpy() for layer in range(6)])
        for last in ("wide", "tired")
    )
    kept = [here for here, _ in found["aligned"]]
    expected = np.abs(now - was)[..., kept].sum(axis=-1) / 2
    np.testing.assert_allclose(found["row"], expected, atol=2e-6)
    named = client.predict(keys["wide"], keys["tired"], it, animal, api_name="/compared")
    assert named == found


def test_lengths_may_differ(site, keys, traces):
    found = ask(site, keys["really exhausted"], keys["tired"], "&query=10").json()
    assert found["aligned"] == [*([at, at] for at in range(13)), [15, 14]]
    assert (found["only_here"], found["only_there"]) == ([13, 14], [13])
    assert found["cell"] is None and len(found["heads"]) == 72
    assert found["heads"][0][2] == np.max(found["row"])
    every = ask(site, keys["really exhausted"], keys["tired"]).json()
    assert every["row"] is None and len(every["heads"]) == 72
    changes = [change for *_, change in every["heads"]]
    assert changes == sorted(changes, reverse=True) and changes[0] > 0.05
    now = traces["really exhausted"].attention(every["heads"][0][0], every["heads"][0][1]).numpy()
    was = traces["tired"].attention(every["heads"][0][0], every["heads"][0][1]).numpy()
    here, there = np.array(every["aligned"]).T
    apart = np.abs(now[here[:, None], here] - was[there[:, None], there]).sum(axis=-1) / 2
    assert changes[0] == pytest.approx(apart.mean(), abs=2e-6)


def test_the_signed_map_lies_over_this_runs_tokens(site, keys, traces):
    answer = ask(
        *(site, keys["really exhausted"], keys["tired"], "&layer=3&head=1"), path="compared_map"
    )
    values = np.frombuffer(answer.content, "<f4").reshape(16, 16)
    assert answer.headers["x-shape"] == "16,16" and answer.headers["x-step"] == "1,1"
    now, was = traces["really exhausted"].attention(3, 1), traces["tired"].attention(3, 1)
    assert values[10, 2] == pytest.approx(float(now[10, 2] - was[10, 2]), abs=1e-6)
    assert values[15, 15] == pytest.approx(float(now[15, 15] - was[14, 14]), abs=1e-6)
    assert np.isnan(values[[13, 14]]).all() and np.isnan(values[:, [13, 14]]).all()
    assert np.isnan(values).sum() == 2 * 16 + 2 * 14
    about = json.loads(unquote(answer.headers["x-about"]))
    assert about == {"rows": [13, 14], "keys": [13, 14]}
    inner = ask(
        *(site, keys["really exhausted"], keys["tired"]),
        *("&layer=3&head=1&hide_special=true&rows=9:14&keys=1:3", "compared_map"),
    )
    part = np.frombuffer(inner.content, "<f4").reshape(5, 2)  # [CLS] is left out: one place less
    np.testing.assert_allclose(part[:3], values[10:13, 2:4], rtol=0, atol=1e-6)
    assert np.isnan(part[3:]).all()
    assert json.loads(unquote(inner.headers["x-about"])) == {"rows": [12, 13], "keys": []}
    small = ask(
        *(site, keys["really exhausted"], keys["tired"]),
        *("&layer=3&head=mean&rows=2:12&keys=0:9&size=5", "compared_map"),
    )
    assert small.headers["x-shape"] == "5,5" and small.headers["x-step"] == "2,2"


def test_the_signed_maps_of_a_layer_are_those_of_its_heads(site, keys):
    """At these lengths no cell is pooled, so that each is its head's own map."""
    pair = keys["really exhausted"], keys["tired"]
    for kept in ("", "&hide_special=true&renormalize=true"):
        answer = ask(site, *pair, f"&layer=3{kept}", path="compared_maps")
        n_heads, n_rows, n_keys = map(int, answer.headers["x-shape"].split(","))
        every = np.frombuffer(answer.content, "<f4").reshape(n_heads, n_rows, n_keys)
        assert n_heads == 12 and n_rows == n_keys == (14 if kept else 16)
        for head in (1, 7):
            one = ask(site, *pair, f"&layer=3&head={head}{kept}", path="compared_map")
            assert np.array_equal(
                np.frombuffer(one.content, "<f4"), every[head].ravel(), equal_nan=True
            )


def table(answer):
    return list(csv.reader(io.StringIO(answer.text)))


def test_the_table_of_a_change_is_exact_and_empty_where_there_is_none(site, keys, traces):
    pair = keys["really exhausted"], keys["tired"]
    answer = ask(site, *pair, "&layer=3&head=1", path="compared_map/csv")
    assert "-3.1-change.csv" in answer.headers["content-disposition"]
    header, *lines = table(answer)
    assert header[:5] == ["query", "query_token", "model", "map", "key 0: [CLS]"]
    assert len(lines) == 16 and lines[10][:2] == ["10", "it"]
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


def test_the_table_of_a_change_has_what_is_shown(site, client, keys, traces):
    pair = keys["wide"], keys["tired"]
    more = "&layer=3&head=1,4&hide_special=true&renormalize=true"
    answer = ask(site, *pair, more, path="compared_map/csv")
    stem = "-3.1-4-change-no-special-renormalized.csv"
    assert stem in answer.headers["content-disposition"]
    _, *lines = table(answer)
    both = []
    for last in ("wide", "tired"):
        part = traces[last].attention(3).double().numpy()[[1, 4]].mean(axis=0)[1:14, 1:14]
        both.append(part / part.sum(axis=1, keepdims=True))
    found = np.array([[float(cell) for cell in line[4:16]] for line in lines[:12]])
    np.testing.assert_allclose(found, (both[0] - both[1])[:12, :12], atol=2e-6)
    assert lines[0][3].endswith("too tired”; special tokens hidden; rows renormalized")
    causal = ["1" * (row + 1) + "0" * (14 - row) for row in range(15)]
    key = client.predict(keys["tired"], causal, api_name="/mask_run")["run"]["key"]
    _, *lines = table(ask(site, key, keys["tired"], "&layer=3&head=1", "compared_map/csv"))
    for row, line in enumerate(lines):
        assert [cell == "" for cell in line[4:]] == [at > row for at in range(15)]


def test_what_cannot_be_compared_is_said(site, client, keys):
    other = ask(site, keys["tired"], keys["grammar"], "&query=1&key=1").json()
    assert "4 layers × 4 heads" in other["why"] and other["aligned"]
    assert other["cell"] is other["row"] is None and other["heads"] == []
    alone = ask(site, keys["wide"], keys["tired"], "&query=10&key=13").json()
    replaced = "“wide” takes the place of “tired” in the reference. "
    assert alone["why"] == f"{replaced}Weights are compared between equal tokens only."
    longer = ask(site, keys["really exhausted"], keys["tired"], "&query=10&key=13").json()
    assert longer["why"].startswith("“really” has no counterpart in the reference")
    assert alone["cell"]["was"][3][1] is None and alone["cell"]["now"][3][1] > 0
    assert alone["heads"] == [] and alone["row"][3][1] > 0.1
    for asked, says in [
        ((keys["wide"], "nonsense"), "The reference has expired"),
        (("nonsense", keys["wide"]), "This run has expired"),
        ((keys["wide"], keys["tired"], "&query=99"), "There is no query 99"),
        ((keys["wide"], keys["tired"], "&key=3"), "without a query"),
    ]:
        answer = ask(site, *asked)
        assert answer.status_code == (410 if says == "This run has expired" else 404)
        assert says in answer.json()["message"]
    no_map = ask(site, keys["tired"], keys["grammar"], "&layer=0&head=0", "compared_map")
    assert no_map.status_code == 404 and "heads have no counterparts" in no_map.json()["message"]
    with pytest.raises(AppError, match="There is no query 99"):
        client.predict(keys["wide"], keys["tired"], 99, api_name="/compared")


def test_a_mask_that_forbids_the_pair_is_said(site, client, keys):
    causal = ["1" * (row + 1) + "0" * (14 - row) for row in range(15)]
    key = client.predict(keys["tired"], causal, api_name="/mask_run")["run"]["key"]
    found = ask(site, key, keys["tired"], "&query=2&key=9").json()
    assert found["why"].startswith("A mask forbids this pair")
    assert found["cell"]["now"][3][1] is None and found["cell"]["was"][3][1] > 0
