"""Columns, rows and other measures by their routes and endpoints, against numpy and the papers."""

import threading

import httpx
import numpy as np
import pytest

import viz_encoder as vz
from tests.ui.reruns import entry_of
from viz_encoder.errors import SelectionError, TooLong
from viz_encoder.ui.tabs.explore import pairs
from viz_encoder.ui.tabs.explore import row_measures as module
from viz_encoder.ui.tabs.explore.row_measures import Measures


def ask(site, key, path):
    return httpx.get(f"{site}viz/run/{key}/{path}", timeout=60)


def array(site, key, path) -> np.ndarray:
    answer = ask(site, key, path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"].startswith("private")
    shape = [int(part) for part in answer.headers["x-shape"].split(",")]
    return np.frombuffer(answer.content, "<f4").reshape(shape)


def measured(client, key, *asked):
    return np.array(client.predict(key, *asked, api_name="/measured")["values"])


def test_a_column_by_route_and_endpoint(site, client, key, trace):
    expected = trace.attention(3, 5)[:, 2].numpy()
    assert np.abs(array(site, key, "column?layer=3&head=5&key=2") - expected).max() <= 1e-6
    assert np.abs(client.predict(key, 3, "5", 2, api_name="/column") - expected).max() <= 1e-6
    most = trace.attention(3)[:, :, 4].amax(dim=0).numpy()
    assert np.abs(array(site, key, "column?layer=3&head=max&key=4") - most).max() <= 1e-6


def test_the_rows_of_all_heads(site, key, trace):
    got = array(site, key, "rows?layer=4&query=8")
    assert got.shape == (12, trace.n_tokens)
    assert np.abs(got - trace.attention(4)[:, 8].numpy()).max() <= 1e-6
    kept = [at for at, special in enumerate(trace.sample.special) if not special]
    rows = trace.attention(4)[:, 8, kept].double().numpy()
    shown = array(site, key, "rows?layer=4&query=8&hide_special=true&renormalize=true")
    np.testing.assert_allclose(shown, rows / rows.sum(axis=1, keepdims=True), rtol=2e-5)
    hidden = array(site, key, "rows?layer=4&query=8&hide_special=true")
    np.testing.assert_allclose(hidden, rows, rtol=2e-5)


def test_the_measures_of_a_row(client, key, minilm, trace):
    weights = measured(client, key, "weight", 2, "7", 9)
    assert np.abs(weights - trace.attention(2, 7)[9].numpy()).max() <= 1e-6
    added = (
        trace.layers[2].v[7].double()
        @ minilm.model.layers[2].attn.o.weight.double()[:, 7 * 32 : 8 * 32].T.detach()
    )
    norms = (trace.attention(2, 7)[9].double()[:, None] * added).norm(dim=-1).numpy()
    got = measured(client, key, "value", 2, "7", 9)
    assert np.abs(got - norms).max() <= 2e-5 * norms.max()
    total = np.eye(trace.n_tokens)
    for layer in range(3):
        total = (trace.attention(layer).double().mean(dim=0).numpy() + np.eye(len(total))) @ total
    got = measured(client, key, "rollout", 2, "7", 9)
    assert np.abs(got - total[9] / 8).max() <= 1e-6


@pytest.mark.parametrize(
    ("head", "fuse"),
    [("mean", lambda n: n.mean(axis=0)), ("max", lambda n: n.max(axis=0)),
     ("0,3", lambda n: n[[0, 3]].mean(axis=0))],
)  # fmt: skip
def test_lengths_of_several_heads(client, key, head, fuse):
    each = np.stack([measured(client, key, "value", 1, str(h), 3) for h in range(12)])
    got = measured(client, key, "value", 1, head, 3)
    assert np.abs(got - fuse(each.astype(np.float64))).max() <= 2e-6 * each.max()


def test_shares_are_of_the_querys_final_state(client, key, minilm, trace):
    expected = vz.attribute(minilm, trace, of="state", token=9)
    shares = expected.tokens / expected.score
    assert np.abs(measured(client, key, "share", 2, "7", 9) - shares).max() <= 2e-6


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("column?layer=0&head=0&key=15", "There is no key 15; choose 0 to 14."),
        ("column?layer=6&head=0&key=0", "There is no layer 6"),
        ("column?layer=0&head=12&key=0", "There is no head 12"),
        ("rows?layer=0&query=-1", "There is no query -1"),
        ("rows?layer=9&query=0", "There is no layer 9"),
    ],
)
def test_what_is_not_there_is_said(site, key, path, says):
    answer = ask(site, key, path)
    assert answer.status_code == 404 and says in answer.json()["message"]


def test_a_saved_run_has_no_model_to_ask(trace):
    saved = entry_of(trace)
    for measure in ("value", "share"):
        with pytest.raises(SelectionError, match="The model of this run is not loaded here"):
            Measures().of(saved, measure, 0, 0, 0)
    assert Measures().of(saved, "rollout", 0, 0, 0).sum() == pytest.approx(1, abs=1e-5)
    with pytest.raises(SelectionError, match="choose weight, value, rollout, share"):
        Measures().of(saved, "fame", 0, 0, 0)


def test_a_long_rollout_is_refused(trace, monkeypatch):
    monkeypatch.setattr(module, "MAX_ROLLOUT_TOKENS", 14)
    with pytest.raises(TooLong, match="This run has 15 tokens; the page computes rollout up to 14"):
        Measures().of(entry_of(trace), "rollout", 0, 0, 0)


def test_layers_come_from_one_computation_and_the_oldest_is_forgotten(trace, monkeypatch):
    asked, real = [], module.rollout
    monkeypatch.setattr(module, "rollout", lambda t, query: asked.append(query) or real(t, query))
    measures, entry = Measures(), entry_of(trace)
    for query in [0, 1, 2, 3, 4, 5, 0, 6, 0, 1]:
        for layer in range(trace.n_layers):
            measures.of(entry, "rollout", layer, 0, query)
    assert asked == [0, 1, 2, 3, 4, 5, 6, 1]


def test_two_who_ask_at_once_wait_for_one_computation(trace, monkeypatch):
    asked, both, real = [], threading.Barrier(2), module.rollout
    monkeypatch.setattr(module, "rollout", lambda t, query: asked.append(query) or real(t, query))
    measures, entry = Measures(), entry_of(trace)

    def ask_both():
        both.wait()
        measures.of(entry, "rollout", 5, 0, 3)

    threads = [threading.Thread(target=ask_both) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asked == [3]


def test_a_column_that_nobody_waits_for_stops(site, key, monkeypatch):
    """The work is endless; the server takes its next part only as long as somebody waits."""
    begun, ended = threading.Event(), threading.Event()

    def endless(*_):
        try:
            while True:
                yield np.zeros(1, np.float32)
                begun.set()
                ended.wait(0.01)  # work that takes its time
        finally:
            ended.set()

    monkeypatch.setattr(pairs, "column_blocks", endless)
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(f"{site}viz/run/{key}/column?layer=0&head=0&key=0", timeout=0.5)
    assert begun.is_set() and ended.wait(20)


SWITCHES = ["hide_special=true", "renormalize=true", "words=true"]


@pytest.mark.parametrize("flags", [*SWITCHES, "&".join(SWITCHES)])
def test_a_column_of_the_map_as_it_is_shown(site, key, trace, flags, monkeypatch):
    """The same cells that a map of these switches has, whatever the size of the parts."""
    monkeypatch.setattr(pairs, "ROWS", 4)
    whole = array(site, key, f"map?layer=3&head=5&{flags}")
    shown = trace.tokens.index("animal") - (1 if "special" in flags else 0)
    got = array(site, key, f"column?layer=3&head=5&key={trace.tokens.index('animal')}&{flags}")
    assert got.shape == (len(whole),) and np.abs(got - whole[:, shown]).max() <= 1e-6
