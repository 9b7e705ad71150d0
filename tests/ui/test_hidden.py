"""States on the Vectors tab: their numbers by numpy or sklearn, one token marked everywhere."""

import io
from copy import deepcopy

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
from viz_encoder.ui.serve import add_routes
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import TraceStore
from viz_encoder.ui.tabs.vectors.states import around

SENTENCE = SENTENCES[0]
PANELS = ("similarity", "change", "pca", "nearest", "logit_lens")


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
    return trace, path, model


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


@pytest.mark.parametrize("special", [True, False])
def test_routes_give_what_numpy_and_sklearn_find(client, trace, minilm, special):
    hidden, said = states(trace, special), f"hide_special={str(not special).lower()}"
    each = np.stack([cosine_similarity(layer) for layer in hidden])
    close(array(client("text", f"cosine_similarities?{said}")), each)
    close(array(client("text", f"token_similarity?layer=4&{said}")), each[4])
    pairs = ~np.eye(hidden.shape[1], dtype=bool)
    lines = client("text", f"over_smoothing?{said}").json()
    close(lines["cosine"], each[:, pairs].mean(axis=1))
    rest = hidden - hidden.mean(axis=1, keepdims=True)
    close(
        lines["apart"],
        [np.linalg.norm(r) / np.linalg.norm(h) for r, h in zip(rest, hidden, strict=True)],
    )
    moved = np.linalg.norm(np.diff(hidden, axis=0), axis=-1) / np.linalg.norm(hidden[:-1], axis=-1)
    got = array(client("text", f"hidden_change?{said}"))
    close(got[0], np.linalg.norm(hidden, axis=-1))
    close(got[2, 1:], moved)
    assert np.isnan(got[1:, 0]).all()
    parts = array(client("text", f"residual_change?{said}"))
    close(parts[0, 2], attention_part(minilm, trace, 2, special))


def attention_part(encoder, trace, layer: int, special: bool) -> np.ndarray:
    """Lengths of what attention adds, by a loop over heads and their slice of the projection."""
    o = encoder.model.layers[layer].attn.o
    weight, total = o.weight.detach().double(), o.bias.detach().double()
    for head in range(trace.n_heads):
        mixed = trace.attention(layer, head).double() @ trace.layers[layer].v[head].double()
        total = total + mixed @ weight[:, head * 32 : (head + 1) * 32].T
    kept = [at for at in range(trace.n_tokens) if special or not trace.sample.special[at]]
    return total.norm(dim=-1)[kept].numpy()


def test_the_pca_is_sklearns(client, trace):
    answer = client("text", "projection")
    hidden = states(trace)
    fitted = PCA(2, svd_solver="full").fit(hidden.reshape(-1, hidden.shape[-1]))
    points = fitted.transform(hidden.reshape(-1, hidden.shape[-1])).reshape(*hidden.shape[:2], 2)
    got = array(answer)
    signs = np.sign((got * points).sum(axis=(0, 1)))
    close(got, points * signs)
    assert f"{fitted.explained_variance_ratio_[0]:.6f}"[:6] in answer.headers["x-about"]


def test_a_long_document_is_answered(client, long_run):
    trace, hidden = long_run[0], states(long_run[0])
    assert array(client("long", "projection")).shape == (7, 2048, 2)
    whole = cosine_similarity(hidden[3])
    blocks = whole.reshape(512, 4, 512, 4)
    means = blocks.mean(axis=(1, 3))
    inside = (np.einsum("iaib->i", blocks) - 4) / 12  # no token is compared with itself
    means[np.diag_indices(512)] = inside
    close(array(client("long", "token_similarity?layer=3")), means)
    refused = client("long", "cosine_similarities")
    assert refused.status_code == 404
    assert "up to 64" in refused.json()["message"]
    nearest = client("long", "nearest_tokens?layer=3&token=700").json()
    order = np.argsort(-whole[700], kind="stable")
    assert nearest["neighbors"] == order[order != 700][:10].tolist()
    assert (
        "model of this run is not loaded here"
        in client("saved", "residual_change").json()["message"]
    )
    assert trace.n_layers == 6


def test_what_each_part_adds_in_a_recorded_model(client, long_run):
    trace, _, model = long_run
    layer, x = deepcopy(model.layers[2]).double(), trace.hidden(2)[None].double()
    with torch.no_grad():
        attention = layer.self_attn(x, x, x, need_weights=False)[0][0]
        middle = layer.norm1(x[0] + attention)
        forward = layer.linear2(layer.linear1(middle).relu())
    parts = array(client("long", "residual_change"))
    close(parts[0, 2], attention.norm(dim=-1).numpy())
    close(parts[1, 2], forward.norm(dim=-1).numpy())
    close(parts[3, 2], (forward.norm(dim=-1) / middle.norm(dim=-1)).numpy())


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
    alike = cosine_similarity(hidden[2])[4]
    alike[4] = -2
    assert lines[1].split(",")[2] == str(alike.argmax())
    close([float(line.split(",")[-1]) for line in lines[1:]], np.sort(alike)[::-1][:10])


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
    """The likeliest word after some blocks, by the head's own modules."""
    with torch.inference_mode():
        state = encoder.model.final_norm(trace.hidden(layer))
        shares = encoder.model.heads["masked"](state[None])[0, token].double().softmax(dim=-1)
    best = int(shares.argmax())
    return encoder.output_name(encoder.config.prediction_heads[0], best), float(shares[best])


def test_the_lens_reads_a_window_of_a_long_text(client, masked, grammar, minilm):
    found = client("masked", "logit_lens?token=2").json()
    assert found["tokens"] == list(range(masked.n_tokens))
    for layer in range(masked.n_layers + 1):
        label, share = lens_of(grammar, masked, layer, 6)
        assert found["labels"][layer][6][0] == label
        assert found["shares"][layer][6][0] == pytest.approx(share, rel=2e-5)
    text = vz.capture(minilm, "the cat sees the dog " * 12)
    assert text.n_tokens > 40
    assert around(text, 0) == list(range(32))
    assert around(text, 30) == list(range(14, 46))
    assert around(text, text.n_tokens - 1) == list(range(text.n_tokens - 32, text.n_tokens))


def test_the_endpoint_names_every_field(site, trace):
    client, hidden = Client(site, verbose=False), states(trace)
    key = client.predict(SENTENCE, api_name="/run_text")["key"]

    def ask(*given):
        return client.predict(key, *given, api_name="/hidden_states")

    close(ask("token_similarity", 3)["cosines"], cosine_similarity(hidden[3]))
    inner = np.linalg.norm(states(trace, False), axis=-1)
    hidden_ones = client.predict(key, "hidden_change", hide_special=True, api_name="/hidden_states")
    close(hidden_ones["norms"], inner)
    alike = cosine_similarity(hidden[2])[4]
    alike[4] = -2
    nearest = ask("nearest_tokens", 2, 4)
    assert nearest["neighbors"] == np.argsort(-alike, kind="stable")[:10].tolist()
    assert nearest["token_names"][0] == trace.tokens[alike.argmax()]
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
    for name in ("similarity", "pca", "nearest"):
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
    until(opened, "#viz-hidden-nearest h4", f"Nearest to {order[2]} “")


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


@pytest.mark.slow
def test_a_long_saved_run_is_shown_without_its_model(shown, long_run):
    trace, path, _ = long_run
    opened = shown()
    opened.open_saved(path)
    opened.page.wait_for_url("**run=**", timeout=60_000)
    until(opened, "#viz-hidden-similarity h4", "each cell is the mean of up to 4 × 4 tokens")
    until(opened, "#viz-hidden-change", "The model of this run is not loaded here")
    opened.page.wait_for_selector("#viz-hidden-change[data-painted]", timeout=60_000)
    assert opened.page.is_hidden("#viz-hidden-logit_lens")
    slide(opened, 3)
    norms = np.linalg.norm(states(trace)[3], axis=-1)
    legend = opened.page.locator("#viz-hidden-change .viz-hidden-legend strong").first
    assert float(legend.inner_text()) == pytest.approx(np.median(norms), rel=5e-4)
