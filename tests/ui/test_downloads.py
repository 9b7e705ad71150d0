"""Downloads from the page: each file holds what is on screen, and the code computes it again."""

import csv
import io
import json
import re

import httpx
import numpy as np
import pytest

import viz_encoder as vz
from tests.export.runs import facts_of
from tests.ui.conftest import saved


def take(site, key, kind, **query) -> httpx.Response:
    asked = {"layer": 3, "head": "5", **query}
    return httpx.get(f"{site}viz/run/{key}/take/{kind}", params=asked, timeout=60)


def test_the_page_has_the_scale_that_was_chosen(site, key):
    assert facts_of(take(site, key, "html", scale="log").text)["scale"]["name"] == "log"
    assert "no color scale" in take(site, key, "html", scale="jet").json()["message"]


def test_what_nobody_foresaw_is_a_sentence(site, key, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("viz_encoder.ui.tabs.explore.downloads.npz_bytes", fail)
    response = take(site, key, "npz")
    assert response.status_code == 422 and "could not be computed" in response.json()["message"]


def test_files_hold_and_name_what_is_shown(site, key, trace):
    chosen = {"head": "1,4", "hide_special": True, "renormalize": True, "words": True}
    response = take(site, key, "npz", **chosen)
    assert "3.1-4-no-special-renormalized-words.npz" in response.headers["content-disposition"]
    with np.load(io.BytesIO(response.content)) as held:
        weights = held["weights"]
    shown = trace.attention(3).double().numpy()[[1, 4]].mean(axis=0)[1:-1, 1:-1]
    expected = shown / shown.sum(axis=1, keepdims=True)  # each of its words is one token
    assert np.abs(weights - expected).max() <= 2e-6
    scope: dict[str, object] = {}
    exec(take(site, key, "py", **chosen).text, scope)
    _, *lines = csv.reader(io.StringIO(take(site, key, "csv", **chosen).text))
    for found in (scope["weights"], [[float(cell) for cell in line[4:]] for line in lines]):
        assert np.abs(np.asarray(found) - expected).max() <= 2e-6


def test_the_whole_run(site, key, trace, tmp_path):
    path = tmp_path / "run.safetensors"
    path.write_bytes(take(site, key, "safetensors").content)
    back = vz.Trace.load(path)
    assert back.tokens == trace.tokens and back.proof.passed


def test_the_page_is_one_file_that_holds_how_the_asked_score_got_there(site, key, found):
    response = take(site, key, "html", of="state", token=10)
    assert response.headers["content-disposition"].startswith("attachment")
    facts = facts_of(response.text)
    assert "all-MiniLM-L6-v2" in facts["title"] and len(response.content) < 5e6
    held, routes = facts["explained"], found.routes()
    assert held["sentence"] == found.sentence and held["score"] == pytest.approx(found.score, 1e-5)
    np.testing.assert_allclose(held["nodes"], found.states, atol=2e-5 * abs(found.states).max())
    moved = sorted((e for e in routes.edges if e.query != e.key), key=lambda e: -abs(e.share))
    for edge, expected in zip(held["edges"], moved, strict=True):
        assert edge == pytest.approx(expected._asdict(), rel=1e-5)
    plain = take(site, key, "html").text
    assert facts_of(plain)["explained"] is None and len(response.text) < len(plain) + 30_000


@pytest.mark.parametrize(
    ("kind", "query", "says"),
    [
        ("exe", {}, "no download 'exe'"),
        ("csv", {"layer": 9}, "no layer 9"),
        ("csv", {"head": "99"}, "no head 99"),
        ("html", {"query": 99}, "no query 99"),
        ("csv", {"layer": "x"}, "layer is 'x'"),
    ],
)
def test_what_there_is_not(site, key, kind, query, says):
    response = take(site, key, kind, **query)
    assert response.status_code in (404, 422) and says in json.loads(response.text)["message"]


def test_the_menu_lies_over_the_page_saves_and_is_left_by_escape(shared):
    page = shared(layer=3, head=5).page
    top = page.locator(".viz-map-canvas").bounding_box()
    name, _ = saved(page, ".viz-map", "npz")
    assert name.endswith("3.5.npz")
    told = page.inner_text(".viz-map .viz-saves [role=status]")
    assert re.fullmatch(r"Saved \S+3.5.npz \(\d[\d.]* [kM]B\)\.", told)
    assert page.locator(".viz-map-canvas").bounding_box() == top
    page.get_by_role("button", name="Copy Python").click()
    copied = ".viz-map .viz-saves"
    page.wait_for_selector(f"{copied} textarea, {copied} [role=status]:text('was copied')")
    page.keyboard.press("Escape")
    assert page.is_hidden(".viz-map .viz-saves")
    page.click("[data-measure=attention]")
    name, _ = saved(page, ".viz-how", "CSV")
    assert name.endswith("-routes-attention.csv")
    page.keyboard.press("Escape")
    page.click(".viz-map .viz-take-open")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.matches('.viz-map .viz-take-open')")


QUESTION = {"of": "state", "token": 10, "layer": 4, "query": 10}


@pytest.fixture(scope="module")
def found(minilm, trace):
    return vz.attribute(minilm, trace, of="state", token=10)


def effects(minilm, trace, found, head, query):
    cut = [(4, head, query, key) for key in range(trace.n_tokens)]
    return vz.effects.links(minilm, trace.sample.texts[0], cut, measure=found).values


@pytest.mark.parametrize(
    ("path", "name", "head", "more"),
    [
        ("map", "share", "7", {}),
        ("map", "share", "1,7", {"hide_special": True}),
        ("map", "share", "mean", {"words": True}),
        ("effect/map", "effect", "7", {}),
    ],
)
def test_what_stands_in_place_of_weights_is_saved_as_it_is_shown(
    site, key, trace, found, minilm, path, name, head, more
):
    def file(kind):
        asked = QUESTION | {"head": head} | more
        answer = httpx.get(f"{site}viz/run/{key}/attribution/{path}/{kind}", params=asked)
        assert f"-{name}" in answer.headers["content-disposition"], answer.text
        return answer

    if name == "effect":
        expected = np.full((15, 15), np.nan)
        expected[10] = effects(minilm, trace, found, 7, 10)
    else:
        expected = found.links(4)[{"1,7": [1, 7], "7": [7]}.get(head, slice(None))].sum(axis=0)
    if more.get("hide_special"):
        expected = expected[1:-1, 1:-1]
    expected = expected / found.score  # as the page tells it, in percent
    close = {"rtol": 2e-5, "atol": 2e-5 * np.nanmax(abs(expected))}
    with np.load(io.BytesIO(file("npz").content)) as held:
        np.testing.assert_allclose(held[name], expected, **close)
        assert held["keys"].tolist() == list(range(15))[1:-1] if "hide" in more else True
    header, *lines = csv.reader(io.StringIO(file("csv").text))
    cells = [[float(cell or "nan") for cell in line[4:]] for line in lines]
    np.testing.assert_allclose(cells, expected, **close)
    assert "length of the final state of “it”" in lines[0][3] and header[2:4] == ["model", "map"]
    assert f"part of the whole, {found.score:.6g} in length" in lines[0][3]
    scope: dict[str, object] = {}
    exec(file("py").text, scope)
    whole = expected[10] if name == "effect" else expected
    np.testing.assert_allclose(np.asarray(scope[name], float), whole, **close)


@pytest.mark.parametrize(
    ("measure", "told"), [("attention", "attribution"), ("effect", "attribution/effect")]
)
def test_the_picture_of_another_measure_is_saved_with_its_own_numbers(site, key, measure, told):
    asked = {"of": "state", "token": 10, "measure": measure}
    where = f"{site}viz/run/{key}/"
    drawn = json.loads(httpx.get(where + told, params=asked, timeout=60).text.splitlines()[-1])
    drawn = drawn.get("result", drawn)
    other = httpx.get(f"{where}attribution/routes/npz", params=asked | {"measure": "contribution"})
    assert other.status_code == 422 and "choose attention or effect" in other.text
    file = httpx.get(f"{where}attribution/routes/npz", params=asked, timeout=60)
    assert f"-routes-{measure}.npz" in file.headers["content-disposition"], file.text
    with np.load(io.BytesIO(file.content)) as held:
        np.testing.assert_allclose(held["z_0"][0], drawn["nodes"][0], atol=1e-6)
        np.testing.assert_allclose(held["y_1"], [edge["share"] for edge in drawn["edges"]], 1e-5)
        assert len(held["z_0"]) == 7 and np.isnan(held["z_0"][1:]).all() == (measure == "effect")


def test_the_code_of_a_change_runs_both_texts(site, key, client, trace, minilm):
    other = trace.sample.texts[0].replace("tired", "wide")
    was = client.predict(other, "", "all-MiniLM-L6-v2", api_name="/run_text")["key"]
    asked = {"reference": was, "layer": 3, "head": 5, "hide_special": True}
    code = httpx.get(f"{site}viz/run/{key}/compared_map/py", params=asked).text
    scope: dict[str, object] = {}
    exec(code, scope)
    change = trace.attention(3, 5) - vz.capture(minilm, other).attention(3, 5)
    same = [at for at in range(1, 14) if at != 13]
    found = np.asarray(scope["change"])[:12, :12]
    np.testing.assert_allclose(found, change[same][:, same], atol=2e-6)
