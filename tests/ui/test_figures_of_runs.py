"""Each view as the page gets it: the figure that Python draws, by name and with its options."""

import base64
import json

import httpx
import numpy as np
import pytest
from gradio_client import Client

import viz_encoder as vz


@pytest.fixture(scope="module")
def run(site):
    return Client(site, verbose=False).predict("The bank approved the loan", api_name="/run_text")


def asked(site, run, path):
    return httpx.get(f"{site}viz/run/{run['key']}/figure/{path}")


def test_a_view_is_the_figure_that_python_draws(site, run, minilm):
    trace = vz.capture(minilm, "The bank approved the loan")
    drawn = asked(site, run, "rollout?query=2&fuse=max").json()
    expected = vz.figures.rollout(trace, query=2, fuse="max")
    packed = drawn["data"][0]["z"]
    z = np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])
    np.testing.assert_allclose(z, np.ravel(expected.data[0].z), atol=1e-6)
    assert drawn["layout"]["title"]["text"] == expected.layout.title.text


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nothing", "There is no view 'nothing'"),
        ("rollout?fuse=median", "Heads fused by is 'median'"),
        ("rollout?layers=2", "has no option 'layers'"),
        ("rollout?query=99", "There is no query 99"),
    ],
)
def test_faults_are_sentences(site, run, path, said):
    response = asked(site, run, path)
    assert response.status_code == 404
    assert said in json.loads(response.text)["message"]


def test_plotly_comes_from_this_server(site):
    assert "plotly.js v" in httpx.get(f"{site}viz/plotly.min.js").text[:400]
