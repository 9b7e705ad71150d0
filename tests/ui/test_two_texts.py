"""Why two texts are alike, on the route, the endpoint and screen: numbers by plain numpy."""

import httpx
import numpy as np
import pytest
from gradio_client.exceptions import AppError

import viz_encoder as vz
from viz_encoder.bundled import asset
from viz_encoder.inputs.items import read_set

TEXTS = "The bank approved the loan", "The lender granted the credit"


@pytest.fixture(scope="module")
def key(client):
    return client.predict(TEXTS[0], api_name="/run_text")["key"]


def ask(site, key, status=200, **given):
    response = httpx.get(f"{site}viz/run/{key}/token_pairs", params=given, timeout=60)
    assert response.status_code == status, response.text
    return response.json()


def parts(minilm, texts, layer=6):
    """Of mean pooling, in float64: the cell (i, j) adds so much to the cosine."""
    a, b = (vz.capture(minilm, text).hidden(layer).double().numpy() for text in texts)
    length = np.linalg.norm(a.sum(axis=0)) * np.linalg.norm(b.sum(axis=0))
    return a @ b.T / length


@pytest.mark.parametrize("layer", [0, 6])
def test_the_route_gives_the_sum_and_what_special_tokens_add(site, client, key, minilm, layer):
    found = ask(site, key, other=TEXTS[1], method="mean", state=layer)
    cells = parts(minilm, TEXTS, layer)
    assert found["cosine"] == pytest.approx(cells.sum(), abs=1e-6)
    assert found["special"] == pytest.approx(cells.sum() - cells[1:-1, 1:-1].sum(), abs=1e-6)
    assert found["sentence"].startswith(f"Cosine {cells.sum():.3f}: ")
    assert found["tokens"][4] == "the" and found["others"][-1] == "[SEP]"
    assert len(found["top"]) == 10 and len(found["matches"]) == 5
    assert found.pop("why") == ""
    assert client.predict(key, TEXTS[1], "mean", layer, api_name="/token_pairs") == found


def test_every_pooling_has_its_cosine_of_texts_on_different_topics(site, key, minilm):
    found = ask(site, key, other=TEXTS[1], method="max")
    topics = vz.analyses.collection(minilm, read_set(asset("examples/sets/topics.csv")))
    labels = np.array(topics.labels)
    apart = labels[:, None] != labels
    for name, mean in found["usual"].items():
        expected = np.nanmean(topics.cosine(name, 6)[apart])
        assert mean == pytest.approx(expected, abs=1e-6)
    assert set(found["usual"]) == set(found["alike"])


def test_a_pair_is_read_one_by_one(site, client, minilm):
    pair = client.predict(*TEXTS, api_name="/run_text")["key"]
    found = ask(site, pair)
    assert found["cosine"] == pytest.approx(parts(minilm, TEXTS).sum(), abs=1e-6)
    assert found["tokens"][-1] == "[SEP]" and len(found["tokens"]) == 7


def test_faults_are_sentences(site, client, key, digit):
    for given, says in (
        ({"other": "x", "method": "median"}, "There is no pooling 'median'"),
        ({"other": "x", "state": 7}, "There is no layer 7"),
    ):
        assert says in ask(site, key, 404, **given)["message"]
    assert "reads pictures" in ask(site, digit, 404, other="digit.png")["message"]
    no_sum = ask(site, key, other="x", method="max")
    assert list(no_sum) == ["why", "alike", "usual"] and no_sum["why"].endswith("choose mean.")
    with pytest.raises(AppError, match="choose mean"):
        client.predict(key, "x", "max", api_name="/token_pairs")
    with pytest.raises(AppError, match="not text"):
        client.predict(key, 3, api_name="/token_pairs")


def test_the_page_says_which_words_make_two_texts_alike(visit, minilm):
    page = visit(a=TEXTS[0], kind="text", model="all-MiniLM-L6-v2", tab="vectors").page
    page.wait_for_selector("#viz-vectors .viz-pool-chosen[data-painted*=':']", timeout=60_000)
    panel = page.locator(".viz-pairs")
    panel.scroll_into_view_if_needed()
    box = panel.get_by_role("textbox", name="Second text")
    assert box.input_value() == "" and panel.locator(".viz-pool-answer").is_hidden()
    box.fill(TEXTS[1])
    box.press("Enter")
    page.wait_for_selector(".viz-pairs .viz-figure[data-painted*='granted']", timeout=60_000)
    cells = parts(minilm, TEXTS)
    rest = cells.sum() - cells[1:-1, 1:-1].sum()
    said = panel.locator(".viz-pool-answer").inner_text()
    assert said.startswith(f"Cosine {cells.sum():.3f}: {rest:.3f} of it comes from pairs with")
    assert "“approved”–“granted”" in said
    assert f"Cosine {cells.sum():.4f} =" in panel.locator(".viz-figure-title").inner_text()
    page.click(".viz-pool-methods [data-method=max]")
    panel.get_by_text("choose mean").wait_for()
    assert panel.locator(".viz-figure").is_hidden() and panel.locator(".viz-lead").is_visible()
    for text in ("another", ""):  # the first is given up before its answer is there
        box.fill(text)
        box.press("Enter")
    panel.get_by_text("Type a second text, then press Compare.").wait_for()
    assert panel.locator(".viz-lead").is_hidden() and "busy" not in panel.get_attribute("class")
