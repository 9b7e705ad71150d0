"""Columns and rows by their routes and endpoints, against numpy."""

import threading

import httpx
import numpy as np
import pytest

from viz_encoder.ui.tabs.explore import pairs


def ask(site, key, path):
    return httpx.get(f"{site}viz/run/{key}/{path}", timeout=60)


def array(site, key, path) -> np.ndarray:
    answer = ask(site, key, path)
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"].startswith("private")
    shape = [int(part) for part in answer.headers["x-shape"].split(",")]
    return np.frombuffer(answer.content, "<f4").reshape(shape)


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
