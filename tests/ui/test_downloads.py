"""Downloads from the page: each file holds what is on screen, and the code computes it again."""

import csv
import io
import json
import re

import httpx
import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.export.runs import facts_of


def take(site, key, kind, **query) -> httpx.Response:
    asked = {"layer": 3, "head": "5", **query}
    return httpx.get(f"{site}viz/run/{key}/take/{kind}", params=asked, timeout=60)


def test_a_map_as_csv(site, key, trace):
    rows = list(csv.reader(io.StringIO(take(site, key, "csv").text)))
    numbers = torch.tensor([[float(cell) for cell in row[-trace.n_tokens :]] for row in rows[-15:]])
    assert torch.allclose(numbers, trace.attention(3, 5), atol=1e-6)


def test_one_row_as_csv(site, key, trace):
    text = take(site, key, "csv", query=10).text
    last = next(csv.reader([text.strip().splitlines()[-1]]))
    assert float(last[-1]) == pytest.approx(float(trace.attention(3, 5)[10, -1]), abs=1e-6)


def test_a_row_and_its_map_have_names_of_their_own(site, key):
    names = [
        take(site, key, kind, **query).headers["content-disposition"]
        for kind in ("csv", "npz")
        for query in ({}, {"query": 10}, {"query": 11})
    ]
    assert len(set(names)) == 6 and "3.5-query-10.csv" in names[1]


def test_the_page_has_the_scale_that_was_chosen(site, key):
    assert facts_of(take(site, key, "html", scale="log").text)["scale"]["name"] == "log"
    assert "no color scale" in take(site, key, "html", scale="jet").json()["message"]


def test_what_nobody_foresaw_is_a_sentence(site, key, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("viz_encoder.ui.tabs.explore.downloads.npz_bytes", fail)
    response = take(site, key, "npz")
    assert response.status_code == 422 and "could not be computed" in response.json()["message"]


@pytest.mark.parametrize("special", [True, False])
def test_a_map_as_npz(site, key, trace, special):
    with np.load(io.BytesIO(take(site, key, "npz", hide_special=not special).content)) as held:
        weights = held["weights"]
    expected = trace.attention(3, 5).numpy()
    assert np.allclose(weights, expected if special else expected[1:-1, 1:-1], atol=1e-6)


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
    assert np.abs(np.asarray(scope["weights"]) - expected).max() <= 2e-6


def test_the_whole_run(site, key, trace, tmp_path):
    path = tmp_path / "run.safetensors"
    path.write_bytes(take(site, key, "safetensors").content)
    back = vz.Trace.load(path)
    assert back.tokens == trace.tokens and back.proof.passed


def test_the_code_gives_the_map(site, key, trace):
    scope: dict[str, object] = {}
    exec(take(site, key, "py").text, scope)
    assert torch.allclose(torch.as_tensor(scope["weights"]), trace.attention(3, 5), atol=1e-6)


def test_the_page_is_one_file(site, key):
    response = take(site, key, "html")
    assert response.headers["content-disposition"].startswith("attachment")
    assert "all-MiniLM-L6-v2" in facts_of(response.text)["title"] and len(response.content) < 5e6


@pytest.mark.parametrize(
    ("kind", "query", "says"),
    [
        ("exe", {}, "no download 'exe'"),
        ("csv", {"layer": 9}, "no layer 9"),
        ("csv", {"head": "99"}, "no head 99"),
        ("csv", {"query": 99}, "no query 99"),
        ("csv", {"layer": "x"}, "layer is 'x'"),
    ],
)
def test_what_there_is_not(site, key, kind, query, says):
    response = take(site, key, kind, **query)
    assert response.status_code in (404, 422) and says in json.loads(response.text)["message"]


def test_a_press_saves_a_file_and_tells_its_name_and_size(shared):
    page = shared(layer=3, head=5).page
    with page.expect_download() as started:
        page.locator(".viz-take").get_by_role("button", name="npz", exact=True).click()
    assert started.value.suggested_filename.endswith("3.5.npz")
    told = page.inner_text(".viz-take [role=status]")
    assert re.fullmatch(r"Saved \S+3.5.npz \(\d[\d.]* [kM]B\)\.", told)
    page.get_by_role("button", name="Copy Python").click()
    page.wait_for_selector(".viz-take textarea, .viz-take [role=status]:text('was copied')")
