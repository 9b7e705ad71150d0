"""States on the Vectors tab: their numbers by numpy or sklearn, one token marked everywhere."""

import io
import json
from urllib.parse import unquote

import numpy as np
import pytest
import torch
from fastapi import FastAPI
from fastapi.testclient import TestClient
from gradio_client import Client
from gradio_client.exceptions import AppError
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import cosine_similarity

import viz_encoder as vz
from tests.ui.conftest import until_said
from tests.ui.reruns import put
from tests.ui.texts import MASKED, SENTENCES
from viz_encoder.analyses.nearest_tokens import nearest_tokens
from viz_encoder.analyses.predictions import logit_lens
from viz_encoder.analyses.projection import projection
from viz_encoder.analyses.residual_change import hidden_change, residual_change
from viz_encoder.analyses.token_similarity import over_smoothing, token_similarity
from viz_encoder.ui.serve import add_routes
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import TraceStore
from viz_encoder.ui.tabs.vectors.states import around

SENTENCE = SENTENCES[0]
PANELS = ("similarity", "change", "pca", "logit_lens")


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
def client(minilm, trace, grammar, masked, long_run):
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


def drawn(found) -> np.ndarray:
    """What the page draws lines from: the states' lengths, and how blocks turn and move them."""
    none = np.full((1, len(found.tokens)), np.nan)  # no block comes before the embeddings
    moved = (np.concatenate([none, each]) for each in (found.cosines, found.changes))
    return np.stack([found.norms, *moved])


@pytest.mark.parametrize("hide", [True, False])
def test_routes_give_what_the_analyses_find(client, trace, minilm, hide):
    def route(path):
        return array(client("text", f"{path}{'&' if '?' in path else '?'}hide_special={hide}"))

    only = {"hide_special": hide}
    close(route("token_similarity?layer=4"), token_similarity(trace, 4, **only).cosines)
    close(route("hidden_change"), drawn(hidden_change(trace, **only)))
    parts = residual_change(minilm, trace, **only)
    lengths = parts.attention, parts.feed_forward
    shares = parts.attention_shares, parts.feed_forward_shares
    close(route("residual_change"), np.stack([*lengths, *shares]))
    close(route("projection?center=each layer"), projection(trace, center="each layer", **only))
    lines = client("text", f"over_smoothing?hide_special={hide}").json()
    found = over_smoothing(trace, **only)
    close(lines["cosine"], found.cosine)
    close(lines["apart"], found.apart)


def test_a_long_document_is_answered(client, long_run):
    trace = long_run[0]
    assert array(client("long", "projection")).shape == (7, 2048, 2)
    blocks = client("long", "token_similarity?layer=3")
    close(array(blocks), token_similarity(trace, 3, size=512).cosines)
    assert json.loads(unquote(blocks.headers["x-about"]))["edges"][:2] == [0, 4]
    nearest = client("long", "nearest_tokens?layer=3&token=700").json()
    assert nearest["neighbors"] == nearest_tokens(trace, 700, 3, n=10).neighbors.tolist()
    missing = client("saved", "residual_change").json()["message"]
    assert "model of this run is not loaded here" in missing


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("long", ""),
        ("attention", "This model's feed-forward part was not read"),
        ("saved", "The model of this run is not loaded here"),
    ],
)
def test_why_a_block_is_not_taken_apart(client, run, said):
    missing = client(run, "../views").json()["residual_change"]["missing"]
    assert missing.startswith(said) and bool(missing) == bool(said)


def test_files_hold_the_same_numbers(client, trace):
    hidden = states(trace)
    file = client("text", "take/token_similarity.npz?layer=2")
    assert 'filename="token_similarity.npz"' in file.headers["content-disposition"]
    with np.load(io.BytesIO(file.content)) as held:
        close(held["cosines"], cosine_similarity(hidden[2]))
        assert held["token_names"].tolist() == list(trace.tokens)
    lines = client("text", "take/nearest_tokens.csv?layer=2&token=4").text.splitlines()
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
def test_what_is_not_there_is_said(client, path, said):
    answer = client("text", path)
    assert answer.status_code == 404
    assert said in answer.json()["message"]


def lens_of(encoder, trace, layer: int, token: int) -> tuple[str, float]:
    """The likeliest word after some blocks, and how likely it is."""
    found = logit_lens(encoder, trace, tokens=[token])
    return found.labels[layer][0][0], float(found.shares[layer][0][0])


def test_the_lens_reads_a_window_of_a_long_text(client, masked, minilm):
    found = client("masked", "logit_lens?token=2").json()
    assert found["tokens"] == list(range(masked.n_tokens))
    text = vz.capture(minilm, "the cat sees the dog " * 12)
    last = text.n_tokens
    for token, first in ((0, 0), (30, 14), (last - 1, last - 32)):
        assert around(text, token) == list(range(first, first + 32))


def test_the_endpoint_names_every_field(site, trace):
    client = Client(site, verbose=False)
    key = client.predict(SENTENCE, api_name="/run_text")["key"]

    def ask(*given, **more):
        return client.predict(key, *given, **more, api_name="/hidden_states")

    close(ask("token_similarity", 3)["cosines"], token_similarity(trace, 3).cosines)
    shown = hidden_change(trace, hide_special=True).norms
    close(ask("hidden_change", hide_special=True)["norms"], shown)
    expected, found = nearest_tokens(trace, 4, 2, n=10), ask("nearest_tokens", 2, 4)
    assert found["neighbors"] == expected.neighbors.tolist()
    assert found["token_names"] == [trace.tokens[at] for at in expected.neighbors]
    with pytest.raises(AppError, match="There is no measure 'sharpness'"):
        ask("sharpness")


@pytest.fixture
def shown(visit):
    """Open the page on the tab and wait until the panels of a run are drawn."""

    def open_tab(*names: str, **query):
        opened = visit(tab="vectors", **query)
        for name in names or PANELS[:-1]:
            opened.page.wait_for_selector(f"#viz-hidden-{name}[data-painted]", timeout=60_000)
        return opened

    return open_tab


def until(opened, where: str, text: str) -> None:
    until_said(opened.page, where, text)


def slide(opened, layer: int) -> None:
    opened.page.locator(".viz-hidden .viz-slider").fill(str(layer))
    for name in ("similarity", "pca"):
        opened.page.wait_for_function(
            "([name, at]) => document.querySelector(`#viz-hidden-${name}`).dataset.painted"
            ".split(':').includes(at)",
            arg=[name, str(layer)],
            timeout=15_000,
        )


def test_panels_say_what_numpy_finds_and_mark_the_hovered_token(shown, trace):
    opened = shown(query=8)
    page, hidden = opened.page, states(trace)
    slide(opened, 5)
    cosines = [cosine_similarity(layer) for layer in hidden]
    pairs = ~np.eye(trace.n_tokens, dtype=bool)
    sentence = [f"{cosines[at][pairs].mean():.2f}" for at in (0, 5, 6)]
    until(opened, ".viz-hidden .viz-lead", f"{sentence[0]} in the embeddings, {sentence[1]}")
    until(opened, ".viz-hidden .viz-lead", f"{sentence[2]} after 6 blocks.")
    page.locator(".viz-hidden-matrix").scroll_into_view_if_needed()
    page.mouse.move(*page.evaluate("vizHidden.similarity.matrix.box(3, 10)"))
    words = f"3 “{trace.tokens[3]}” and 10 “{trace.tokens[10]}”: cosine {cosines[5][3, 10]:.4f}"
    until(opened, "#viz-hidden-similarity .viz-hidden-told", words)
    check_marked(opened, 3)
    fitted = PCA(2).fit(hidden.reshape(-1, hidden.shape[-1]))
    first, second = (f"{100 * share:.1f}%" for share in fitted.explained_variance_ratio_)
    label = page.get_attribute(".viz-hidden-pca", "aria-label")
    assert f"Component 1: {first} of the variance; Component 2: {second}" in label
    page.locator(".viz-hidden-pca").scroll_into_view_if_needed()
    page.mouse.move(*page.evaluate("vizHidden.pca.box(11, 5)"))
    until(opened, "#viz-hidden-pca .viz-hidden-told", f"11 “{trace.tokens[11]}” after 5 blocks")
    check_marked(opened, 11)
    check_nearest(opened, trace, cosines[5][8].copy(), 8)
    check_lines(opened, trace, hidden)


def check_marked(opened, token: int) -> None:
    """In the chips, the matrix, the PCA and, where it is among them, the nearest tokens."""
    pointed = "#viz-vectors .viz-word.viz-pointed"
    assert opened.page.get_attribute(pointed, "data-token") == str(token)
    held = "[vizHidden.similarity.matrix.hovered, vizHidden.pca.hovered]"
    assert opened.page.evaluate(held) == [token, token]
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


def check_lines(opened, trace, hidden: np.ndarray) -> None:
    """The values beside the lines, at the marked layer, of the token that was chosen last."""
    chosen = opened.page.evaluate("vizTab.selection.query")
    until(opened, "#viz-hidden-change .viz-hidden-legend", f"{chosen} “")
    norms = np.linalg.norm(hidden, axis=-1)[5]
    said = opened.page.locator("#viz-hidden-change .viz-hidden-legend strong").all_text_contents()
    found = [float(each) for each in said]
    assert found[:2] == pytest.approx([np.median(norms), norms[chosen]], rel=5e-4)
    before = np.linalg.norm(hidden[4], axis=-1)
    moved = np.linalg.norm(hidden[5] - hidden[4], axis=-1) / before
    assert found[-2:] == pytest.approx([np.median(moved), moved[chosen]], rel=5e-4)


def test_the_head_is_read_off_every_layer(shown, masked, grammar):
    opened = shown(*PANELS, kind="text", model="grammar", a=MASKED[0], query=6)
    page = opened.page
    for layer in range(masked.n_layers + 1):
        label, share = lens_of(grammar, masked, layer, 6)
        cell = page.locator(f".viz-hidden-logit-lens td[data-layer='{layer}'][data-place='6']")
        assert cell.locator("bdi").inner_text() == label
        assert cell.locator("small").inner_text() == f"{share:.2f}"
    cell.hover()
    label, share = lens_of(grammar, masked, masked.n_layers, 6)
    until(
        opened,
        "#viz-hidden-logit_lens .viz-hidden-told",
        f"“[MASK]”, after 4 blocks: “{label}” {share:.4f}",
    )
    check_marked(opened, 6)
    assert "trained on the last row only" in page.inner_text("#viz-hidden-logit_lens")
    page.click(".viz-hidden-logit-lens tbody th[data-layer='2']")
    until(opened, ".viz-hidden-where", "After 2 of 4 blocks")
    page.uncheck("#viz-hidden-special")
    kept = cosine_similarity(states(masked, special=False)[2])
    mean = kept[~np.eye(len(kept), dtype=bool)].mean()
    until(opened, ".viz-hidden .viz-lead", f"{mean:.2f} after 2 blocks")
    drawn = "**/figure/token_similarity?*hide_special=yes*"
    with page.expect_request(drawn), page.expect_download() as taken:
        page.locator("#viz-hidden-similarity").get_by_role("button", name="PNG").click()
    assert taken.value.suggested_filename == "token_similarity.png"
    assert taken.value.path().read_bytes()[:4] == b"\x89PNG"
    with page.expect_download() as taken:
        page.locator("#viz-hidden-similarity").get_by_role("button", name="Matrix npz").click()
    with np.load(taken.value.path()) as held:
        close(held["cosines"], kept)
    page.get_by_role("button", name="Previous layer").last.click()
    until(opened, ".viz-hidden-where", "After 1 of 4 blocks")
    page.wait_for_url("**hidden.layer=1**")
    page.go_back()
    until(opened, ".viz-hidden-where", "After 2 of 4 blocks")
