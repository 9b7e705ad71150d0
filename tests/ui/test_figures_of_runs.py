"""Each view as the page gets it: the figure that Python draws, by name and with its options."""

import base64
import csv
import io
import json

import httpx
import numpy as np
import plotly.graph_objects as go
import pytest
from gradio_client.exceptions import AppError

import viz_encoder as vz
from viz_encoder.analyses.value_weighted import value_weighted_sum
from viz_encoder.export.figure_tables import figure_csv
from viz_encoder.figures.options import VIEWS


@pytest.fixture(scope="module")
def run(client):
    return client.predict("The bank approved the loan", api_name="/run_text")


def asked(site, run, path):
    return httpx.get(f"{site}viz/run/{run['key']}/figure/{path}")


def unpacked(array):
    """An array as Plotly's JSON carries it."""
    shape = [int(size) for size in array["shape"].split(",")]
    return np.frombuffer(base64.b64decode(array["bdata"]), array["dtype"]).reshape(shape)


def test_a_view_is_the_figure_that_python_draws(site, run, minilm):
    trace = vz.capture(minilm, "The bank approved the loan")
    drawn = asked(site, run, "rollout?query=2&fuse=max").json()
    expected = vz.figures.rollout(trace, query=2, fuse="max")
    z = unpacked(drawn["data"][0]["z"])
    np.testing.assert_allclose(z, expected.data[0].z, atol=1e-6)
    assert drawn["layout"]["title"]["text"] == expected.layout.title.text


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nothing", "There is no view 'nothing'"),
        ("rollout?fuse=median", "Combine heads by is 'median'"),
        ("rollout?layers=2", "has no option 'layers'"),
        ("rollout?query=99", "There is no query 99"),
        ("rollout?query=two", "There is no query 'two'; the tokens are"),
        ("value_weighted?head=mean", "give a whole number, or sum"),
        ("nothing.csv", "There is no view 'nothing'"),
        ("routes?of=answer", "has no prediction head"),
    ],
)
def test_faults_are_sentences(site, run, path, said):
    response = asked(site, run, path)
    assert response.status_code == 404
    assert said in json.loads(response.text)["message"]


def test_plotly_comes_from_this_server(site):
    assert "plotly.js v" in httpx.get(f"{site}viz/plotly.min.js").text[:400]


def test_numbers_come_as_a_table(site, client, minilm):
    text = "=1+1 + @home"
    key = client.predict(text, api_name="/run_text")["key"]
    trace = vz.capture(minilm, text)
    answer = httpx.get(f"{site}viz/run/{key}/figure/value_weighted_depth.csv?query=3")
    named = "all-MiniLM-L6-v2-value_weighted_depth-query-3.csv"
    assert answer.headers["content-disposition"] == f'attachment; filename="{named}"'
    lines = list(csv.reader(io.StringIO(answer.text)))
    assert lines[0][0] == "Layer \\ Key (token whose position adds)"
    assert lines[0][-2:] == ["title", "model"]
    assert {line.pop() for line in lines[1:]} == {"all-MiniLM-L6-v2"}
    assert all("attention to 3" in line.pop() for line in lines[1:])
    assert lines[0][1:-2] == [f"{at} {token}" for at, token in enumerate(trace.tokens)]
    for layer, cells in enumerate(lines[1:]):
        expected = value_weighted_sum(minilm, trace, layer).norms[3]
        assert cells[0] == str(layer)
        np.testing.assert_allclose(
            np.float32(cells[1:]), expected, rtol=0, atol=1e-6 * expected.max()
        )
    packed = httpx.get(f"{site}viz/run/{key}/figure/value_weighted_depth.npz?query=3").content
    arrays = np.load(io.BytesIO(packed), allow_pickle=False)
    assert np.array_equal(arrays["z_0"], np.float32([line[1:] for line in lines[1:]]))
    assert "attention to 3" in str(arrays["title"])
    assert str(arrays["model"]) == "all-MiniLM-L6-v2"


def test_formulas_are_only_text_in_a_table(site, client):
    view = "head_statistics.csv?statistic=entropy"
    key = client.predict("a", api_name="/run_text")["key"]
    assert httpx.get(f"{site}viz/run/{key}/figure/{view}").text.startswith("Layer \\ Head,0,1")
    figure = go.Figure(go.Heatmap(z=[[1.5, np.nan]], x=["=1", "&lt;b"]))
    assert "".join(figure_csv(figure)) == " \\ ,'=1,<b\n0,1.5,\n"
    points = go.Figure(go.Scatter(name="@a", x=[1.0], y=[-2.5]))
    assert "".join(figure_csv(points)) == "trace,x,y\n'@a,1.0,-2.5\n"


def test_each_view_says_what_it_takes_and_measures(site, run, minilm):
    listed = httpx.get(f"{site}viz/run/{run['key']}/views").json()
    assert [view["name"] for view in listed.values()] == list(listed) == list(VIEWS)
    query, fuse, hide, renormalize = listed["rollout"]["controls"]
    assert hide["choices"] == renormalize["choices"] == ["no", "yes"]
    assert (hide["name"], hide["default"]) == ("hide_special", "no")
    assert query["most"] == len(run["tokens"]) - 1 and query["default"] == 0
    assert fuse["choices"] == ["mean", "max", "min"] and fuse["most"] is None
    head = listed["attention_map"]["controls"][1]
    assert (head["words"], head["most"]) == (["mean", "max"], 11)
    assert "2005.00928" in listed["rollout"]["source"] and not listed["rollout"]["missing"]
    place = listed["attention_map"]["place"]
    assert (place["tab"], place["slot"]) == ("explore", "map")
    assert listed["rollout"]["place"] is None
    assert "This run read a text" in listed["patch_overlay"]["missing"]


def test_a_saved_run_has_no_model(site, of_file):
    listed = httpx.get(f"{site}viz/run/{of_file}/views").json()
    for view in ("routes", "value_weighted", "value_weighted_depth"):
        assert listed[view]["missing"].startswith("The model of this run is not loaded here")
    assert not listed["rollout"]["missing"]
    answer = httpx.get(f"{site}viz/run/{of_file}/figure/routes")
    assert "The model of this run is not loaded here" in answer.json()["message"]


def test_the_endpoint_attributes(client, run, minilm):
    got = client.predict(run["key"], "state", "", 3, api_name="/attribute")
    trace = vz.capture(minilm, "The bank approved the loan")
    found = vz.attribute(minilm, trace, of="state", token=3)
    assert got["sentence"] == found.sentence and got["names"] == list(trace.tokens)
    np.testing.assert_allclose(got["tokens"], found.tokens, atol=2e-5 * found.score)
    np.testing.assert_allclose(got["heads"], found.heads, atol=2e-5 * found.score)
    assert sum(got["tokens"]) + got["biases"] == pytest.approx(got["score"], rel=1e-5)
    assert got["links"][0]["head"] == found.strongest(1)[0].head
    against = client.predict(run["key"], "", "", None, "The dog sat", api_name="/attribute")
    assert against["sentence"].startswith("The distance between the two vectors")
    along = client.predict(
        run["key"], toward="The dog sat", through="attention", api_name="/attribute"
    )
    found = vz.attribute(minilm, trace, toward="The dog sat", through="attention")
    assert along["sentence"] == found.sentence and along["links"] == []
    for asked, said in (
        (["answer"], "no prediction head"),
        (["", "", None, "", "", "x"], "values"),
    ):
        with pytest.raises(AppError, match=said):
            client.predict(run["key"], *asked, api_name="/attribute")


def test_the_endpoint_gives_the_figure(client, run, minilm):
    content = client.predict(run["key"], "rollout", {"query": 2, "fuse": "min"}, api_name="/figure")
    trace = vz.capture(minilm, "The bank approved the loan")
    expected = vz.figures.rollout(trace, query=2, fuse="min")
    np.testing.assert_allclose(unpacked(content["data"][0]["z"]), expected.data[0].z, atol=1e-6)
    several = client.predict(run["key"], "attention_map", {"head": [1, 7]}, api_name="/figure")
    assert "heads 1, 7" in several["layout"]["title"]["text"]
    for options, said in (({"query": 99}, "no query 99"), ([1], "must be an object")):
        with pytest.raises(AppError, match=said):
            client.predict(run["key"], "rollout", options, api_name="/figure")
