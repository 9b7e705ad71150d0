"""One cell in every head, by its route and by its named endpoint."""

import httpx
import numpy as np
import pytest

import viz_encoder as vz
from tests.by_hand import shown, whole_maps
from tests.ui.conftest import until_said
from viz_encoder.trace.token_selection import shown_tokens


def ask(site, key, query, token):
    return httpx.get(f"{site}viz/run/{key}/pair?query={query}&key={token}", timeout=60)


def test_route_and_endpoint_give_the_cell_of_every_head(site, client, key, trace):
    maps = np.stack([trace.attention(at).numpy() for at in range(trace.n_layers)])
    expected = {"weights": maps[:, :, 10, 2], "means": maps[:, :, :, 2].mean(axis=2)}
    expected["ratios"] = expected["weights"] / expected["means"]
    answer = ask(site, key, 10, 2)
    assert answer.status_code == 200 and answer.headers["cache-control"].startswith("private")
    for found in (answer.json(), client.predict(key, 10, 2, api_name="/pair")):
        assert set(found) == set(expected)
        for name, values in expected.items():
            assert np.allclose(found[name], values, rtol=2e-5, atol=1e-6), name


def test_a_masked_run_has_null_where_the_mask_forbids_the_pair(site, client, key):
    causal = ["1" * (at + 1) + "0" * (14 - at) for at in range(15)]
    masked = client.predict(key, causal, api_name="/mask_run")["run"]["key"]
    found = ask(site, masked, 1, 3).json()
    assert {value for row in found["weights"] for value in row} == {None}
    assert {value for row in found["ratios"] for value in row} == {None}
    assert all(value > 0 for row in found["means"] for value in row)  # later queries may look
    assert None not in {value for row in ask(site, masked, 3, 1).json()["weights"] for value in row}


@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("words", [False, True])
def test_the_endpoint_follows_the_switches(client, minilm, renormalize, words):
    text = "The woodpecker hammered unreadably"
    trace = vz.capture(minilm, text)
    run = client.predict(text, api_name="/run_text")["key"]
    found = client.predict(run, 3, 5, True, renormalize, words, api_name="/pair")
    groups = shown_tokens(trace, hide_special=True, words=words)
    row, column = (next(at for at, g in enumerate(groups) if token in g) for token in (3, 5))
    columns = shown(whole_maps(trace), groups, renormalize=renormalize)[..., column]
    assert np.allclose(found["weights"], columns[..., row], atol=2e-5)
    assert np.allclose(found["means"], columns.mean(axis=-1), atol=2e-5)


def test_a_hidden_token_is_refused_with_the_reason(site, key):
    for query, token, says in ((0, 3, "Query 0 is a special"), (3, 0, "Key 0 is a special")):
        address = f"{site}viz/run/{key}/pair?query={query}&key={token}&hide_special=true"
        answer = httpx.get(address, timeout=60)
        assert answer.status_code == 404 and says in answer.json()["message"]


@pytest.mark.slow
def test_the_list_and_the_sentence_follow_the_switches(shared, trace):
    kept = [at for at in range(trace.n_tokens) if not trace.sample.special[at]]
    maps = np.stack([trace.attention(at).double().numpy() for at in range(6)])
    shown = maps[:, :, :, kept] / maps[:, :, :, kept].sum(axis=3, keepdims=True)
    cells, means = shown[:, :, 10, kept.index(2)], shown[:, :, kept, kept.index(2)].mean(axis=2)
    opened = shared(layer=3, head=1, query=10, key=2, hide=1, renorm=1)
    page = opened.page
    page.wait_for_selector(".viz-pair[data-painted*=':hide+renorm:10:2']")
    best = np.unravel_index(np.argmax(cells), cells.shape)
    first = page.inner_text(".viz-pair-line >> nth=0")
    assert first.split()[0] == f"{best[0]}.{best[1]}"
    assert f"{cells[best]:.2f}" in first and f"{cells[best] / means[best]:.1f} ×" in first
    assert "special tokens hidden" in page.inner_text(".viz-pair")
    assert "divided by their sum over the tokens shown" in page.inner_text(".viz-pair")
    said = page.inner_text(".viz-finding")
    assert f"{cells[3, 1]:.2f} of its attention on the tokens shown" in said
    assert f"{cells[3, 1] / means[3, 1]:.1f} times the average" in said
    page.fill("#viz-find", "[CLS] -> animal")
    assert "“[CLS]” is a special token" in page.inner_text(".viz-order-said")
    page.uncheck("#viz-hide")
    page.wait_for_selector(".viz-pair[data-painted*=':renorm:10:2']")
    assert f"{maps[3, 1, 10, 2]:.2f} of its attention" in page.inner_text(".viz-finding")


@pytest.mark.slow
def test_a_link_to_a_hidden_token_says_so(visit):
    page = visit(query=0, key=3, hide=1).page
    until_said(page, ".viz-pair", "special tokens are hidden")
    assert page.locator(".viz-pair-line").count() == 0
    assert "“[CLS]” is chosen but hidden." in page.inner_text(".viz-finding")
    assert page.inner_text(".viz-pair h3") == "Which heads link [CLS] → didn"
    assert page.locator(".viz-pair").bounding_box()["height"] < 100  # no room for a list
    page.uncheck("#viz-hide")
    page.wait_for_selector(".viz-pair-line")


@pytest.mark.slow
def test_a_finding_of_a_hidden_token_shows_it_again(visit):
    opened = visit(layer=3, head=1, query=10, key=2, hide=1)
    page = opened.page
    page.wait_for_selector(".viz-pair[data-painted*=':hide:10:2']")
    page.get_by_role("button", name="3.1 it → animal").click()
    assert page.is_checked("#viz-hide")
    chip = page.get_by_role("button", name="first token ([CLS])")
    chip.press("Enter")
    page.wait_for_selector(".viz-pair[data-painted*=':all:10:0']")
    assert not page.is_checked("#viz-hide")
    assert page.inner_text(".viz-pair h3") == "Which heads link it → [CLS]"
    assert "of its attention" in page.inner_text(".viz-finding")
    assert chip.evaluate("chip => chip === document.activeElement")
