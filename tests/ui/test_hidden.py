"""States on the Vectors tab: their numbers by numpy or sklearn, one token marked everywhere."""

import io
import json
from dataclasses import replace
from urllib.parse import unquote

import numpy as np
import pytest
import torch
from fastapi import FastAPI
from fastapi.testclient import TestClient
from gradio_client.exceptions import AppError
from sklearn.metrics.pairwise import cosine_similarity

import viz_encoder as vz
from tests.ui.conftest import saved, until_said
from tests.ui.reruns import put
from tests.ui.texts import MASKED
from viz_encoder.analyses.nearest_tokens import nearest_tokens
from viz_encoder.analyses.projection import projection
from viz_encoder.analyses.residual_change import hidden_change, residual_change
from viz_encoder.analyses.token_similarity import over_smoothing, token_similarity
from viz_encoder.config import HeadConfig
from viz_encoder.ui.serve import add_routes
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import TraceStore
from viz_encoder.ui.tabs.vectors.states import around


@pytest.fixture(scope="module")
def masked(grammar):
    return vz.capture(grammar, MASKED[0])


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    """2,048 tokens through six blocks of torch's own; saved, so without its model."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).eval()
    with torch.no_grad(), vz.record(model) as recording:
        model(torch.randn(1, 2048, 16))
    trace = recording.trace(tokens=[f"t{i}" for i in range(2048)])
    trace.save(path := tmp_path_factory.mktemp("long") / "run.safetensors")
    return trace, path


def attention_alone():
    torch.manual_seed(0)
    attention = torch.nn.MultiheadAttention(16, 2, batch_first=True).eval()
    x = torch.randn(1, 5, 16)
    with torch.no_grad(), vz.record(attention) as recording:
        attention(x, x, x, need_weights=False)
    return recording.trace()


@pytest.fixture(scope="module")
def routes(minilm, trace, grammar, masked, long_run):
    """The routes over three runs, by name."""
    store, app = TraceStore(), FastAPI()
    add_routes(app, Runner(Models("cpu"), store))
    keys = {
        "text": put(store, trace, encoder=minilm),
        "masked": put(store, masked, encoder=grammar),
        "long": put(store, long_run[0]),
        "saved": put(store, vz.Trace.load(long_run[1])),
        "attention": put(store, attention_alone()),
    }
    with TestClient(app) as served:
        yield lambda run, path: served.get(f"/viz/run/{keys[run]}/hidden/{path}")


def states(trace, special: bool = True) -> np.ndarray:
    """Every state of the tokens, "state token d_model", in double precision."""
    kept = [at for at in range(trace.n_tokens) if special or not trace.sample.special[at]]
    hidden = torch.stack(list(trace.hidden_states)).double().numpy()
    return hidden[:, kept]


def array(answer) -> np.ndarray:
    assert answer.status_code == 200, answer.text
    shape = [int(side) for side in answer.headers["x-shape"].split(",")]
    return np.frombuffer(answer.content, "<f4").reshape(shape)


def close(got, expected) -> None:
    got, expected = np.asarray(got, float), np.asarray(expected, float)
    assert got.shape == expected.shape
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    assert np.nanmax(np.abs(got - expected)) <= 2e-5 * np.nanmax(np.abs(expected))


@pytest.mark.parametrize("hide", [True, False])
def test_routes_give_what_the_analyses_find(routes, trace, hide):
    def route(path):
        return array(routes("text", f"{path}{'&' if '?' in path else '?'}hide_special={hide}"))

    only = {"hide_special": hide}
    close(route("token_similarity?layer=4"), token_similarity(trace, 4, **only).cosines)
    lines = routes("text", f"over_smoothing?hide_special={hide}").json()
    found = over_smoothing(trace, **only)
    close(lines["cosine"], found.cosine)
    close(lines["apart"], found.apart)


def test_a_long_document_is_answered(routes, long_run):
    trace = long_run[0]
    blocks = routes("long", "token_similarity?layer=3")
    close(array(blocks), token_similarity(trace, 3, size=512).cosines)
    assert json.loads(unquote(blocks.headers["x-about"]))["edges"][:2] == [0, 4]
    nearest = routes("long", "nearest_tokens?layer=3&token=700").json()
    assert nearest["neighbors"] == nearest_tokens(trace, 700, 3, n=10).neighbors.tolist()
    missing = routes("saved", "residual_change").json()["message"]
    assert "model of this run is not loaded here" in missing


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("long", ""),
        ("attention", "This model's feed-forward part was not read"),
        ("saved", "The model of this run is not loaded here"),
    ],
)
def test_why_a_block_is_not_taken_apart(routes, run, said):
    missing = routes(run, "../views").json()["residual_change"]["missing"]
    assert missing.startswith(said) and bool(missing) == bool(said)


def test_files_hold_the_same_numbers(routes, trace):
    hidden = states(trace)
    file = routes("text", "take/token_similarity.npz?layer=2")
    assert 'filename="token_similarity.npz"' in file.headers["content-disposition"]
    with np.load(io.BytesIO(file.content)) as held:
        close(held["cosines"], cosine_similarity(hidden[2]))
        assert held["token_names"].tolist() == list(trace.tokens)
    lines = routes("text", "take/nearest_tokens.csv?layer=2&token=4").text.splitlines()
    near = nearest_tokens(trace, 4, 2, n=10)
    assert lines[1].split(",")[1] == str(near.neighbors[0])
    close([float(line.split(",")[-1]) for line in lines[1:]], near.cosines)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("token_similarity?layer=7", "There is no layer 7; choose 0 to 6."),
        ("nearest_tokens?token=99", "There is no token 99"),
        ("sharpness", "There is no measure 'sharpness'"),
        ("take/projection.exe", "There is no download 'exe'; choose csv, npz."),
        ("logit_lens", "has no prediction head"),
    ],
)
def test_what_is_not_there_is_said(routes, path, said):
    answer = routes("text", path)
    assert answer.status_code == 404
    assert said in answer.json()["message"]


def test_the_lens_reads_a_window_of_a_long_text(routes, masked, minilm):
    found = routes("masked", "logit_lens?token=2").json()
    assert found["tokens"] == list(range(masked.n_tokens))
    text = vz.capture(minilm, "the cat sees the dog " * 12)
    last = text.n_tokens
    for token, first in ((0, 0), (30, 14), (last - 1, last - 32)):
        assert around(text, token) == list(range(first, first + 32))


def test_the_endpoint_names_every_field(client, key, trace, minilm):

    def ask(*given, **more):
        return client.predict(key, *given, **more, api_name="/hidden_states")

    close(ask("token_similarity", 3)["cosines"], token_similarity(trace, 3).cosines)
    shown = hidden_change(trace, hide_special=True).norms
    close(ask("hidden_change", hide_special=True)["norms"], shown)
    close(ask("residual_change")["attention"], residual_change(minilm, trace).attention)
    close(ask("projection")["points"], projection(trace).points)
    expected, found = nearest_tokens(trace, 4, 2, n=10), ask("nearest_tokens", 2, 4)
    assert found["neighbors"] == expected.neighbors.tolist()
    assert found["token_names"] == [trace.tokens[at] for at in expected.neighbors]
    with pytest.raises(AppError, match="There is no measure 'sharpness'"):
        ask("sharpness")


@pytest.fixture
def shown(visit):
    """Open the page on the tab and wait until the panels of a run are drawn."""

    def open_tab(**query):
        opened = visit(tab="vectors", **query)
        opened.page.wait_for_selector("#viz-hidden-similarity[data-painted]", timeout=60_000)
        return opened

    return open_tab


def until(opened, where: str, text: str) -> None:
    until_said(opened.page, where, text)


def slide(opened, layer: int) -> None:
    opened.page.locator(".viz-hidden .viz-slider").fill(str(layer))
    opened.page.wait_for_function(
        "at => document.querySelector('#viz-hidden-similarity').dataset.painted"
        ".split(':').includes(at)",
        arg=str(layer),
        timeout=15_000,
    )


def test_the_tab_says_what_numpy_finds_and_marks_the_hovered_token(shown, trace):
    opened = shown(query=8)
    page, hidden = opened.page, states(trace)
    slide(opened, 5)
    cosines = [cosine_similarity(layer) for layer in hidden]
    pairs = ~np.eye(trace.n_tokens, dtype=bool)
    sentence = [f"{cosines[at][pairs].mean():.2f}" for at in (0, 5, 6)]
    until(opened, ".viz-hidden .viz-lead", f"{sentence[0]} in the embeddings, {sentence[1]}")
    until(opened, ".viz-hidden .viz-lead", f"{sentence[2]} after 6 blocks.")
    figures(page)  # whose heights move the matrix
    page.locator(".viz-hidden-matrix").scroll_into_view_if_needed()
    page.mouse.move(*page.evaluate("vizHidden.similarity.matrix.box(3, 10)"))
    words = f"3 “{trace.tokens[3]}” and 10 “{trace.tokens[10]}”: cosine {cosines[5][3, 10]:.4f}"
    until(opened, "#viz-hidden-similarity .viz-hidden-told", words)
    check_marked(opened, 3)
    check_nearest(opened, trace, cosines[5][8].copy(), 8)


def check_marked(opened, token: int) -> None:
    """In the chips, the matrix and, where it is among them, the nearest tokens."""
    opened.page.wait_for_selector(f"#viz-vectors .viz-word.viz-pointed[data-token='{token}']")
    assert opened.page.evaluate("vizHidden.similarity.matrix.hovered") == token
    near = f".viz-hidden-neighbor[data-token='{token}']"
    if opened.page.locator(near).count():
        assert "viz-pointed" in opened.page.get_attribute(near, "class")


def check_nearest(opened, trace, cosines: np.ndarray, token: int) -> None:
    cosines[token] = -2
    order = np.argsort(-cosines, kind="stable")[:10]
    expected = [f"{at} “{trace.tokens[at]}”{cosines[at]:.4f}" for at in order]
    found = opened.page.locator(".viz-hidden-neighbor")
    assert found.all_text_contents() == expected
    found.nth(2).hover()
    check_marked(opened, int(order[2]))
    found.nth(2).click()
    opened.page.wait_for_function("at => vizTab.selection.query === at", arg=int(order[2]))
    until(
        opened,
        "#viz-hidden-similarity [aria-label='Nearest tokens'] h4",
        f"Nearest to {order[2]} “",
    )


def figures(page, **shared: object) -> list[str]:
    """The views that are drawn below, once each that takes them has these options."""
    page.wait_for_function(
        """shared => {
          const all = [...document.querySelectorAll(".viz-hidden-more .viz-figure")];
          const asked = ({ dataset }) => new URLSearchParams(dataset.painted?.split("?")[1]);
          const has = (one, [name, value]) => [value, null].includes(one.get(name));
          const are = (one) => one.size && Object.entries(shared).every((each) => has(one, each));
          return all.length && all.map(asked).every(are);
        }""",
        arg={name: str(value) for name, value in shared.items()},
        timeout=60_000,
    )
    painted = page.eval_on_selector_all(
        ".viz-hidden-more .viz-figure", "all => all.map((one) => one.dataset.painted)"
    )
    return [name.split(":")[1].split("?")[0] for name in painted]


def test_figures_of_the_package_follow_the_tab_and_what_it_shows_is_saved(shown, masked):
    opened = shown(kind="text", model="grammar", a=MASKED[0], query=6)
    page = opened.page
    drawn = figures(page, hide_special="no", token=6)
    assert drawn == ["residual_change", "over_smoothing", "projection", "logit_lens"]
    assert page.inner_text(".viz-hidden-more summary >> text=More").endswith(", logit lens")
    page.locator(".viz-hidden-chart").click(position={"x": 200, "y": 50})
    page.wait_for_selector(".viz-hidden-where:text-is('After 2 of 4 blocks')")
    page.uncheck("#viz-hidden-special")
    kept = cosine_similarity(states(masked, special=False)[2])
    mean = kept[~np.eye(len(kept), dtype=bool)].mean()
    until(opened, ".viz-hidden .viz-lead", f"{mean:.2f} after 2 blocks")
    figures(page, hide_special="yes")
    drawn = "**/figure/token_similarity?*hide_special=yes*"
    with page.expect_request(drawn):
        name, content = saved(page, "#viz-hidden-similarity", "PNG")
    assert name == "token_similarity.png" and content[:4] == b"\x89PNG"
    with np.load(io.BytesIO(saved(page, "#viz-hidden-similarity", "Matrix npz")[1])) as held:
        close(held["cosines"], kept)
    page.get_by_role("button", name="Previous layer").last.click()
    until(opened, ".viz-hidden-where", "After 1 of 4 blocks")
    page.wait_for_url("**hidden.layer=1**")
    page.go_back()
    until(opened, ".viz-hidden-where", "After 2 of 4 blocks")


@pytest.fixture(scope="module")
def two_headed(tmp_path_factory):
    """The masked-word model with a second head of random weights, which labels each token."""
    encoder = vz.load("grammar", device="cpu")
    labeler = HeadConfig(task="tokens", n_out=3, labels=("noun", "verb", "other"))
    config = replace(encoder.config, prediction_heads=(*encoder.config.prediction_heads, labeler))
    torch.manual_seed(0)
    model = vz.Encoder(config)
    model.load_state_dict(encoder.model.state_dict(), strict=False)
    place = tmp_path_factory.mktemp("models") / "two"
    replace(encoder, model=model.eval()).save(place)
    return place


def test_the_lens_reads_the_head_that_is_asked_for(two_headed):
    encoder = vz.load(two_headed, device="cpu")
    trace, out = vz.capture(encoder, MASKED[0]), encoder.model.heads["tokens"].out
    (drawn, *_) = vz.figures.logit_lens(encoder, trace, task="tokens").data
    for layer in range(trace.n_layers + 1):
        with torch.inference_mode():
            scores = out(encoder.model.final_norm(trace.hidden(layer)[6])).double().numpy()
        shares = np.exp(scores) / np.exp(scores).sum()
        assert drawn.text[layer][6] == ("noun", "verb", "other")[int(shares.argmax())]
        assert drawn.z[layer][6] == pytest.approx(shares.max(), abs=2e-5)


@pytest.mark.slow
def test_the_head_of_the_logit_lens_is_in_the_link(visit, client, two_headed):
    name = client.predict(str(two_headed), api_name="/open_model")["name"]
    opened = visit(kind="text", a=MASKED[0], model=name, tab="vectors", query=6)
    page = opened.page
    lens, chosen = ".viz-hidden-more .viz-figure[data-painted*='task={}']", "[data-control=task]"
    page.wait_for_selector(lens.format("masked"), timeout=60_000)
    tasks = page.locator(f"{chosen} option").evaluate_all("all => all.map(o => o.value)")
    assert tasks == ["masked", "tokens"] and "hidden.task" not in page.url
    page.select_option(chosen, "tokens")
    page.wait_for_selector(lens.format("tokens"))
    page.wait_for_url("**hidden.task=tokens*")
    page.reload()
    page.wait_for_selector(lens.format("tokens"), timeout=60_000)
    assert page.input_value(chosen) == "tokens"
    page.select_option(chosen, "masked")
    page.wait_for_selector(lens.format("masked"))
    page.wait_for_function("!new URL(location).searchParams.has('hidden.task')")
