"""The named endpoints through gradio_client, and the binary routes through plain HTTP."""

import json

import httpx
import numpy as np
import pytest
import torch
from gradio_client.exceptions import AppError

import viz_encoder as vz
from tests.ui.conftest import begun, in_base64
from tests.ui.texts import PICTURES, SENTENCES
from viz_encoder.analyses.survey import STATISTICS
from viz_encoder.bundled import asset
from viz_encoder.trace.map_view import SCALES
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.wire.static import address

TEXT = SENTENCES[0]
NAMES = """
    models model open_model look_up cached_models download_model run_text run_picture open_saved
    attention attention_row column pair findings head_statistics proof role similar predictions
    change compared what_if head_effects token_effects patch_effects flips attribute figure
    hidden_states pooled padding_drift token_pairs compare_set compare_pictures set_table
    set_cosine set_neighbors set_plane attention_pooling mask_preset mask_run mask_reach mask_code
    zoo zoo_audit corpus corpus_example
"""


@pytest.fixture(scope="module")
def run(client):
    return client.predict(TEXT, api_name="/run_text")


def fetch(site: str, key: str, path: str) -> np.ndarray:
    """An array from a binary route."""
    response = httpx.get(f"{site}viz/run/{key}/{path}")
    assert response.status_code == 200, response.text
    assert response.headers["cache-control"].startswith("private")
    shape = [int(part) for part in response.headers["x-shape"].split(",")]
    return np.frombuffer(response.content, "<f4").reshape(shape)


def test_every_action_has_a_named_endpoint(client):
    named = client.view_api(return_format="dict")["named_endpoints"]
    assert sorted(named) == [f"/{name}" for name in sorted(NAMES.split())]


def test_the_map_of_a_head_as_numbers(client, run, trace):
    assert tuple(run["tokens"]) == trace.tokens
    layer = trace.attention(3)
    for head, expected in (("5", layer[5]), ("mean", layer.mean(dim=0)), ("max", layer.amax(0))):
        got = client.predict(run["key"], 3, head, api_name="/attention")
        assert torch.allclose(torch.tensor(got), expected, atol=1e-6), head


def test_one_row_the_statistics_and_the_proof(client, run, trace):
    row = client.predict(run["key"], 1, "4", 10, api_name="/attention_row")
    assert torch.allclose(torch.tensor(row), trace.attention(1, 4)[10], atol=1e-6)
    statistics = client.predict(run["key"], 1, api_name="/head_statistics")
    entropy = torch.special.entr(trace.attention(1)).sum(dim=-1).mean(dim=-1)
    assert torch.allclose(torch.tensor(statistics["entropy"]), entropy, atol=1e-5)
    kept = client.predict(run["key"], 1, True, True, api_name="/head_statistics")
    inner = trace.attention(1).double()[:, 1:-1, 1:-1]
    entropy = torch.special.entr(inner / inner.sum(dim=-1, keepdim=True)).sum(dim=-1).mean(dim=-1)
    np.testing.assert_allclose(kept["entropy"], entropy, rtol=2e-5)
    assert client.predict(run["key"], api_name="/proof")["passed"] is True


def test_a_pair_and_a_picture(client, minilm):
    pair = client.predict(TEXT, "She slept.", api_name="/run_text")
    assert tuple(pair["tokens"]) == vz.capture(minilm, (TEXT, "She slept.")).tokens
    path = asset(PICTURES["a wide scene"])
    picture = client.predict(in_base64(path), api_name="/run_picture")
    grid = vz.capture(vz.load("scene", device="cpu"), path).grid
    assert picture["grid"] == {"rows": grid.n_rows, "cols": grid.n_cols, "prefix": grid.n_prefix}


def test_a_saved_run_is_opened(client, site, trace, tmp_path):
    trace.save(tmp_path / "run.safetensors")
    opened = client.predict(in_base64(tmp_path / "run.safetensors"), api_name="/open_saved")
    assert tuple(opened["tokens"]) == trace.tokens
    whole = fetch(site, opened["key"], "map?layer=3&head=5")
    assert np.abs(whole - trace.attention(3, 5).numpy()).max() <= 1e-6
    other = in_base64(asset(PICTURES["a digit"]))
    with pytest.raises(AppError, match="not a saved trace"):
        client.predict(other, api_name="/open_saved")


@pytest.mark.parametrize("endpoint", ["/run_picture", "/open_saved"])
def test_no_file_of_the_server_is_read(client, endpoint):
    with pytest.raises(AppError, match="sent as base64"):
        client.predict(str(asset(PICTURES["a digit"])), api_name=endpoint)


def test_a_text_is_no_path(client):
    with pytest.raises(AppError, match="reads images, not texts"):
        client.predict(str(asset(PICTURES["a digit"])), "", "scene", api_name="/run_text")


@pytest.mark.parametrize(
    ("arguments", "api_name", "says"),
    [
        (("",), "/run_text", "is empty"),
        ((TEXT, "", "no-such-model"), "/run_text", "There is no model"),
        (("nonsense", 0, "0"), "/attention", "has expired"),
    ],
)
def test_a_fault_is_a_plain_sentence(client, arguments, api_name, says):
    with pytest.raises(AppError, match=says):
        client.predict(*arguments, api_name=api_name)


def ask(site: str, api_name: str, *values: object) -> str:
    """The sentence that an endpoint refuses with, over plain HTTP; "" where it answers."""
    told = httpx.get(begun(site, api_name.removeprefix("/"), *values), timeout=60).text
    if "event: complete" in told:
        return ""
    return json.loads(told.split("data: ", 1)[1].split("\n", 1)[0])["error"]


def test_what_was_left_out_is_filled_in_or_named(site, run):
    assert ask(site, "/run_text", TEXT) == ""
    assert ask(site, "/attention", run["key"], 0, "0") == ""
    assert "it takes key, layer, head and, if you like, hide_special." in ask(site, "/attention")
    assert "was sent 0 values; it takes text_a and" in ask(site, "/run_text")
    for named, values in (("/pair", (5, 2)), ("/compared", (run["key"], 5, 2))):
        said = ask(site, named, run["key"], *values, "yes please")
        assert "it must be True or False" in said, named


@pytest.mark.parametrize("head", ["٣", "1_1", "+3", "-1", " 3", "3 ", "1,", "", "³", "1" * 5000])
def test_a_head_is_written_in_plain_digits(site, run, head):
    told = ask(site, "/attention", run["key"], 0, head)
    assert told.startswith("There is no head ") and len(told) < 200
    answer = httpx.get(f"{site}viz/run/{run['key']}/map", params={"layer": 0, "head": head})
    assert answer.status_code in (404, 422)


def test_a_fault_of_ours_is_a_sentence_too(site, monkeypatch):
    monkeypatch.setattr(Runner, "run", lambda *_, **__: 1 / 0)
    assert "the server's log says why" in ask(site, "/run_text", TEXT)


def test_no_description_of_the_server_is_served(site):
    for path in ("openapi.json", "docs", "redoc"):
        assert "swagger" not in (answer := httpx.get(f"{site}{path}")).text.lower()
        assert '"openapi"' not in answer.text


def test_routes_give_exact_parts(site, run, trace):
    key = run["key"]
    whole = fetch(site, key, "map?layer=3&head=5")
    assert np.abs(whole - trace.attention(3, 5).numpy()).max() <= 1e-6
    part = fetch(site, key, "map?layer=3&head=5&rows=2:6&keys=1:15")
    assert np.abs(part - whole[2:6, 1:15]).max() <= 1e-6
    hidden = fetch(site, key, "map?layer=3&head=5&hide_special=true")
    assert np.abs(hidden - whole[1:-1, 1:-1]).max() <= 1e-6
    row = fetch(site, key, "row?layer=3&head=5&query=7")
    assert np.abs(row - trace.attention(3, 5)[7].numpy()).max() <= 1e-6
    several = fetch(site, key, "map?layer=3&head=1,5,7")
    assert np.abs(several - trace.attention(3)[[1, 5, 7]].mean(dim=0).numpy()).max() <= 1e-6


def test_a_pooled_part_keeps_the_largest(site, run, trace):
    pooled = fetch(site, run["key"], "map?layer=0&head=2&size=4")
    weights, step = trace.attention(0, 2).numpy(), 4
    for row, col in np.ndindex(*pooled.shape):
        block = weights[row * step : (row + 1) * step, col * step : (col + 1) * step]
        assert pooled[row, col] == pytest.approx(block.max(), abs=1e-6)


@pytest.mark.parametrize(
    "path",
    [
        *("map", "map?layer=99&head=0", "map?layer=nan&head=0", "map?layer=0&head=x"),
        *("thumbnails?layer=-1", "thumbnails?layer=0&reduce=zzz", "picture.png"),
        *(
            f"map?layer=0&head=0&rows={rows}"
            for rows in ("5:2", "0:999", "%2B1:3", "1_0:12", "a:b")
        ),
    ],
)
def test_a_route_refuses_in_a_sentence(site, run, path):
    response = httpx.get(f"{site}viz/run/{run['key']}/{path}")
    assert response.status_code in (404, 422)
    assert response.json()["message"].endswith(".")


@pytest.mark.parametrize(
    "path", ["../app.py", "%2e%2e/app.py", "scene/../../app.py", "//etc/passwd"]
)
def test_static_files_stay_in_their_folder(site, path):
    assert httpx.get(f"{site}{address(path)}").status_code in (403, 404)


def test_files_are_kept_by_browsers_and_those_of_another_version_not_found(site):
    answer = httpx.get(f"{site}{address('core/dom.js')}")
    assert answer.status_code == 200 and "immutable" in answer.headers["cache-control"]
    assert httpx.get(f"{site}viz/static/{'0' * 16}/core/dom.js").status_code == 404
    for path in ("models/grammar/config.json", "../models/grammar/config.json", "examples"):
        assert httpx.get(f"{site}{address(path)}").status_code == 404


def test_the_first_run_is_there_without_a_queue_and_stays_the_same(site):
    first, again = (httpx.get(f"{site}viz/first").json() for _ in range(2))
    assert first == again and first["link"]["a"] == SENTENCES[0]
    statistics, scales = (first["vocabulary"][part] for part in ("statistics", "scales"))
    real = sum(first["valid"])
    assert statistics == {name: known.of(real) for name, known in STATISTICS.items()}
    assert [scales[name]["title"] for name in SCALES] == [scale.title for scale in SCALES.values()]
    found = fetch(site, first["key"], "map?layer=2&head=3")
    expected = vz.capture(vz.load("all-MiniLM-L6-v2"), SENTENCES[0]).attention(2, 3)
    assert np.abs(found - expected.numpy()).max() < 1e-6
