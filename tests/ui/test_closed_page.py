"""An open page holds no connection, and one that closes lets go of what it alone showed."""

from threading import Event
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient

from tests.ui.conftest import serving
from viz_encoder.ui.form import model_opening
from viz_encoder.ui.form.model_opening import Opening
from viz_encoder.ui.serve import ServerSettings, make_app
from viz_encoder.ui.state.limits import LOCAL
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.wire.run_facts import MAX_NAME
from viz_encoder.ui.wire.watch import SenderLeft


@pytest.mark.slow
def test_an_open_page_holds_no_connection(visit):
    """A browser has six to a server: the seventh page would never load."""
    opened = visit(a="Held by a link", kind="text")  # as it opens it runs that, by Gradio's queue
    opened.painted()
    opened.page.wait_for_load_state("networkidle")


def test_a_page_that_closes_lets_go_of_its_run(chromium):
    app, told = make_app(ServerSettings()), Event()
    store = app.state.runner.store
    let_go = type(store).release

    def release(owner: str) -> None:
        let_go(store, owner)
        told.set()

    store.release = release
    with serving(app) as address, chromium.new_context() as profile:
        page = profile.new_page()
        page.goto(f"{address}?{urlencode({'a': 'A cat sat.', 'kind': 'text'})}")
        page.wait_for_selector(".viz-map[data-painted]", timeout=60_000)
        entry = store.get(page.evaluate("vizTab.run.key"))
        kept_for = entry.expires
        assert len(entry.owners) == 1
        page.close()
        assert told.wait(20)
        assert not entry.owners and entry.expires < kept_for


def test_whoever_says_it_another_page_keeps_what_it_shows():
    app = make_app(ServerSettings())
    store, client = app.state.runner.store, TestClient(app, base_url="http://127.0.0.1")
    key = client.get("/viz/first").json()["key"]
    entry = store.get(key)
    entry.expires, entry.owners = 1e12, {"one", "two"}
    for name, left in (("three", {"one", "two"}), ("two", {"one"})):
        assert client.post("/viz/closed", content=name).status_code == 204
        assert entry.owners == left and entry.expires == 1e12
    assert client.post("/viz/closed", content="x" * (MAX_NAME + 1)).is_client_error
    assert entry.owners == {"one"}
    assert client.post("/viz/closed", content="one").status_code == 204
    assert not entry.owners and entry.expires < 1e12


def test_a_download_ends_when_its_page_is_closed(monkeypatch):
    def left():
        raise SenderLeft("no one was waiting")

    monkeypatch.setattr(model_opening, "watched", lambda _: left)
    opening, request = Opening(Models(), LOCAL), SimpleNamespace(session_hash="a page")
    monkeypatch.setattr(opening.models, "download", lambda name, part, tell: tell(0.1))
    opening.inspected["a page"] = "some/model"
    said, *_ = opening.download("some/model", "", request, lambda *_, **__: None)
    assert "no one was waiting" in said and not opening.ready
