"""One cell in every head, by its route and by its named endpoint."""

import httpx
import numpy as np
import pytest
from gradio_client.exceptions import AppError

import viz_encoder as vz
from tests.ui.texts import SENTENCES

TEXT = SENTENCES[0]


@pytest.fixture(scope="module")
def trace(minilm):
    return vz.capture(minilm, TEXT)


@pytest.fixture(scope="module")
def key(client):
    return client.predict(TEXT, api_name="/run_text")["key"]


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


def test_what_is_not_there_is_said(site, client, key):
    for asked, says in [
        ((key, 15, 0), "There is no query 15; choose 0 to 14"),
        ((key, 0, 15), "There is no key 15; choose 0 to 14"),
        (("nonsense", 0, 0), "This run has expired"),
    ]:
        answer = ask(site, *asked)
        assert answer.status_code == 404 and says in answer.json()["message"]
        with pytest.raises(AppError, match=says):
            client.predict(*asked, api_name="/pair")
