"""The hub from the page: asked when a person asks, told before a download, never by strangers."""

import threading

import httpx
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from tests.checkpoints.pretended_hub import COMMIT, Hub, pretended_hub, tiny_bert
from tests.slow import slow
from tests.ui.conftest import begun, lasting, listen_for_errors, matters, serving
from viz_encoder.checkpoints import HubModel, Plan, patient
from viz_encoder.errors import SelectionError
from viz_encoder.ui.serve import ServerSettings, make_app
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.wire.watch import SenderLeft

NAME, WIDE, NARROW = "organization/model", "organization/wide", "organization/narrow"
SHORT, MOVED = "bert-base-uncased", "google-bert/bert-base-uncased"
TEXT = "w1 w2 [MASK] w4"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def hub(tmp_path, folder):
    with pretended_hub(tmp_path / "cache") as hub:
        hub.license = "apache-2.0 <b>"
        for name in (NAME, WIDE, NARROW, MOVED):
            hub.hold(name, folder)
        yield hub


@pytest.fixture(scope="module")
def site():
    """A server that people of this machine reach; what a test brings is in its own cache."""
    with serving(make_app(ServerSettings(device="cpu"))) as site:
        yield site


@pytest.fixture(scope="module")
def person(chromium, site):
    with lasting(chromium, site) as context:
        yield context


@pytest.fixture
def page(person, site):
    page = person.new_page()
    yield page
    page.close()


def opened(page, site):
    """The page, and the part that opens another model."""
    page.goto(site)
    page.wait_for_selector(".viz-map[data-painted]", timeout=60_000)
    page.wait_for_selector("#viz-inputs[data-ran]", state="attached")
    if page.is_visible(".viz-to-form"):
        page.click(".viz-to-form")
    page.focus("#viz-text-a textarea")
    page.click("#viz-opening >> text=Open another model")


def asked(hub: Hub) -> list[str]:
    """All but what Gradio's client, which is this test's, asks for its statistics."""
    return [each for each in hub.asked if not each.startswith("HEAD /api/telemetry/py_client")]


def test_a_model_is_shown_then_brought_then_opened(hub):
    models = Models(device="cpu", local=True)
    found = models.look(f" {NAME} ")
    assert isinstance(found, HubModel) and found.family == "bert"
    with pytest.raises(SelectionError, match="not downloaded yet"):
        models.open(NAME)
    assert hub.brought() == [] and models.cached() == []
    assert models.download(NAME) == NAME
    hub.asked.clear()
    assert isinstance(models.look(NAME), Plan)
    assert models.open(NAME) == NAME and NAME in models.names("text")
    assert [plan.card.name for plan in models.cached()] == [NAME]
    assert hub.asked == []


def test_the_cache_lists_only_what_loads(hub):
    models = Models(device="cpu", local=True)
    hub.models[MOVED]["tokenizer.json"] = b"{}"
    for name in (NAME, MOVED):
        models.download(name)
    real = (models.look(MOVED).folder / "config.json").resolve()
    real.write_text('{"model_type": "mamba"}')
    assert [plan.card.name for plan in models.cached()] == [NAME]


@pytest.mark.parametrize("ask", ["look", "download", "open"])
def test_strangers_ask_for_nothing(hub, ask):
    Models(device="cpu", local=True).download(NAME)  # which is then in the cache
    hub.asked.clear()
    models = Models(device="cpu")
    for name in (NAME, MOVED, SHORT, "no/such"):
        with pytest.raises(SelectionError, match="opens no other models"):
            getattr(models, ask)(name)
    with pytest.raises(SelectionError, match="opens no other models"):
        models.cached()
    assert hub.asked == []


@pytest.mark.slow
def test_a_public_server_never_asks_the_hub_whatever_is_sent(hub):
    """By every endpoint and every event of the page, with names in each place."""
    Models(device="cpu", local=True).download(NAME)
    hub.asked.clear()
    with serving(make_app(ServerSettings(public=True, device="cpu"))) as site:
        client = Client(site, verbose=False)
        for endpoint in ("/look_up", "/download_model", "/open_model"):
            for name in (MOVED, NAME):
                with pytest.raises(AppError, match="opens no other models"):
                    client.predict(name, api_name=endpoint)
        with pytest.raises(AppError, match="opens no other models"):
            client.predict(api_name="/cached_models")
        with httpx.Client(base_url=site, timeout=60) as web:
            config = web.get("config")
            for number, dependency in enumerate(config.json()["dependencies"]):
                data = [MOVED] * len(dependency["inputs"])
                joined = {"data": data, "fn_index": number, "session_hash": f"s{number}"}
                answer = web.post("gradio_api/queue/join", json=joined)
                if "event_id" in answer.text:
                    told = web.get(f"gradio_api/queue/data?session_hash=s{number}")
                    assert "organization/model" not in told.text
        assert "viz-opening" not in config.text
        names = client.predict(api_name="/models")
    assert asked(hub) == [] and not {NAME, MOVED} & set(names)


def test_the_endpoints(hub):
    with serving(make_app(ServerSettings(device="cpu"))) as site:
        client = Client(site, verbose=False)
        facts = client.predict(NAME, api_name="/look_up")
        assert (facts["family"], facts["license"]) == ("bert", "apache-2.0 <b>")
        assert facts["n_bytes"] > 0 and facts["revision"] == COMMIT and hub.brought() == []
        with pytest.raises(AppError, match="not downloaded yet"):
            client.predict(NAME, api_name="/open_model")
        assert client.predict(api_name="/cached_models") == []
        assert client.predict(NAME, api_name="/download_model") == NAME
        hub.asked.clear()
        assert [m["name"] for m in client.predict(api_name="/cached_models")] == [NAME]
        assert client.predict(NAME, api_name="/look_up")["n_bytes"] == 0
        assert client.predict(NAME, api_name="/open_model")["name"] == NAME
        run = client.predict(TEXT, "", NAME, api_name="/run_text")
        assert run["tokens"][0] == "w1" and asked(hub) == []


def test_a_lookup_ends_where_its_sender_has_left(hub, monkeypatch):
    """Four that were left alone would fill the hub's queue."""
    ended = threading.Event()

    def look(self, name, part="", tell=None):
        try:
            return patient(lambda: hub.answer.wait(60), tell)
        except SenderLeft:
            ended.set()
            raise

    monkeypatch.setattr(Models, "look", look)
    monkeypatch.setenv("GRADIO_HEARTBEAT_INTERVAL", "0.25")  # when Gradio sees who left
    hub.answer.clear()
    with serving(make_app(ServerSettings(device="cpu"))) as site:
        with httpx.stream("GET", begun(site, "look_up", NAME), timeout=60):
            assert not ended.wait(0.5)  # while it is listened to, it goes on
        assert ended.wait(20)
    hub.answer.set()


def test_a_download_that_is_stopped_keeps_the_page_free(hub):
    models, stopped = Models(device="cpu", local=True), threading.Event()
    hub.models[NAME]["model.safetensors"] += b"\0" * 200_000
    models.look(NAME)
    hub.go.clear()

    def tell(share: float) -> None:
        if share > 0:
            stopped.set()
            raise SelectionError("Stopped; nothing was kept.")

    with pytest.raises(SelectionError, match="Stopped"):
        models.download(NAME, tell=tell)
    assert stopped.is_set() and models.cached() == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "name"), [slow(1440, WIDE), (390, NARROW)])
def test_looked_up_brought_and_run_on_the_page(hub, page, site, width, name):
    faults = []
    listen_for_errors(page, faults.append)
    page.on("console", lambda m: faults.append(m.text) if matters(m) else None)
    page.set_viewport_size({"width": width, "height": 1000})
    opened(page, site)
    page.fill("#viz-open-name input, #viz-open-name textarea", SHORT)
    page.wait_for_timeout(500)
    assert hub.asked == []  # typing asks nobody
    page.click("#viz-load")  # which shows what it would bring, and brings nothing
    page.wait_for_selector("#viz-found .viz-model")
    said = page.inner_text("#viz-found")
    assert f"{MOVED} (bert)" in said and "apache-2.0 <b>" in said and "Not downloaded" in said
    assert hub.brought() == [] and not page.is_visible("#viz-load")
    assert "MB" in page.inner_text("#viz-download")
    page.fill("#viz-open-name input, #viz-open-name textarea", name)
    page.wait_for_selector("#viz-load")  # another name: nothing of it was shown yet
    page.click("#viz-look")
    page.wait_for_selector(f"#viz-found :text('{name} (bert)')")
    page.click("#viz-download")
    page.wait_for_function(f"window.vizTab.run.model === '{name}'", timeout=60_000)  # at once
    hub.asked.clear()
    opened(page, page.url)
    page.wait_for_selector("#viz-cached input")
    page.click("#viz-cached input")
    page.wait_for_selector(f"[role=option]:has-text('{name}')")
    page.click(f"[role=option]:has-text('{name}')")
    page.wait_for_selector("#viz-found :text('are free')")
    assert page.input_value("#viz-open-name input, #viz-open-name textarea") == name
    assert hub.asked == [] and faults == []


@pytest.mark.slow
def test_a_hub_that_is_silent_holds_no_run_up(hub, page, site):
    opened(page, site)
    page.fill("#viz-open-name input, #viz-open-name textarea", NAME)
    page.wait_for_timeout(500)
    assert hub.asked == []  # typing asks nobody
    hub.answer.clear()
    page.click("#viz-load")
    page.wait_for_selector("#viz-found :text('Looking')")
    page.fill("#viz-text-a textarea", "the keys")
    page.click("#viz-run")
    page.wait_for_function("window.vizTab.run.tokens.length === 4")
    assert not page.query_selector("#viz-found .viz-model")
    page.focus("#viz-text-a textarea")  # a run folds the form, and what is in it
    page.click("#viz-opening >> text=Open another model")
    page.click("#viz-stop")
    page.wait_for_selector("#viz-found .viz-alert")
    assert "Stopped" in page.inner_text("#viz-found")
