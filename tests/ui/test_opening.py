"""Other models on the page: looked up, loaded, run, stopped and refused; what their heads say."""

import html
import re
import threading
from dataclasses import replace

import httpx
import pytest
from gradio_client.exceptions import AppError

import viz_encoder as vz
from tests.checkpoints.cases.bert import build
from tests.checkpoints.parity import Case, save
from tests.slow import slow
from tests.ui.conftest import serving
from viz_encoder.analyses.predictions import predictions
from viz_encoder.checkpoints import BUILTIN
from viz_encoder.config.anatomy import anatomy
from viz_encoder.errors import CheckpointError, SelectionError
from viz_encoder.ui.form.model_panel import model_panel
from viz_encoder.ui.serve import ServerSettings, make_app
from viz_encoder.ui.state import models as models_module
from viz_encoder.ui.state.models import Models

TEXT = "w1 w2 [MASK] w4"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny BERT with a masked-token head, as transformers writes it."""
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    folder.mkdir()
    save(Case("x", "bert", build("ForMaskedLM"), None), folder)
    return folder


@pytest.fixture(scope="module")
def trace(folder):
    return vz.capture(vz.load(folder, device="cpu"), TEXT)


def test_an_opened_model_runs_and_predicts(client, folder, trace):
    opened = client.predict(str(folder), api_name="/open_model")
    encoder = vz.load(folder, device="cpu")
    assert opened["family"] == "bert" and opened["n_layers"] == 3
    assert [part["equation"] for part in opened["parts"]] == [
        part.equation for part in anatomy(encoder.config)
    ]
    run = client.predict(TEXT, "", opened["name"], api_name="/run_text")
    assert tuple(run["tokens"]) == trace.tokens
    for layer in (None, 0, 3):
        got = client.predict(run["key"], "", layer, api_name="/predictions")
        expected = predictions(encoder, trace, state=layer)
        assert [guess["token"] for guess in got] == [2]
        assert tuple(got[0]["labels"]) == expected[0].labels
        assert got[0]["shares"] == pytest.approx(expected[0].shares.tolist(), abs=1e-6)


def test_the_same_folder_is_listed_once(client, folder):
    first, again = (client.predict(str(folder), api_name="/open_model") for _ in range(2))
    assert first["name"] == again["name"]
    assert client.predict(api_name="/models").count(first["name"]) == 1


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "Type a folder or the name"),
        ("/no/such/folder", "no folder"),
        ("/etc", "no config.json"),
    ],
)
def test_what_cannot_be_opened_is_said(client, name, says):
    with pytest.raises(AppError, match=says):
        client.predict(name, api_name="/open_model")


@pytest.mark.parametrize(
    ("layer", "task", "says"), [(9, "", "no state 9"), (None, "x", "no prediction head")]
)
def test_predictions_that_there_are_not(client, folder, layer, task, says):
    name = client.predict(str(folder), api_name="/open_model")["name"]
    key = client.predict(TEXT, "", name, api_name="/run_text")["key"]
    with pytest.raises(AppError, match=says):
        client.predict(key, task, layer, api_name="/predictions")


def test_a_model_is_loaded_once_for_all(folder, monkeypatch):
    models, calls, begun = Models(local=True, device="cpu"), [], threading.Barrier(4)
    real = models_module.fill
    monkeypatch.setattr(models_module, "fill", lambda *a: calls.append(1) or real(*a))
    name, got = models._list(models.look(str(folder))), []

    def ask():
        begun.wait()
        got.append(models.get(name))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1 and len(got) == 4 and all(one is got[0] for one in got)


def test_a_stopped_loading_keeps_nothing(folder):
    models = Models(local=True, device="cpu")
    name = models._list(models.look(str(folder)))

    def stop(share):
        raise SelectionError("Stopped.")

    with pytest.raises(SelectionError, match="Stopped"):
        models.get(name, tell=stop)
    assert not models.is_loaded(name)
    assert models.get(name).config.n_layers == 3


def test_look_up_load_and_run_on_the_page(visit, folder, trace):
    page = visit().painted()
    page.click("#viz-opening >> text=Open another model")
    page.fill("#viz-open-name input, #viz-open-name textarea", str(folder))
    page.click("#viz-look")
    page.wait_for_selector("#viz-found .viz-model")
    said = page.inner_text("#viz-found")
    assert "weights need" in said and "are free" in said and "3 layers × 4 heads" in said
    page.fill("#viz-text-a textarea", "")  # so that what is loaded cannot run, and the form stays
    page.press("#viz-open-name input, #viz-open-name textarea", "Enter")  # as Load
    page.wait_for_selector("text=tiny-bert is loaded")
    page.wait_for_selector("text=Run your text on it")
    assert not page.is_visible("#viz-notice .viz-alert")  # an empty box is no fault
    page.fill("#viz-text-a textarea", TEXT)
    page.click("text=Run your text on it")
    page.wait_for_function("window.vizTab.run.tasks.includes('masked')")
    page.wait_for_selector("#viz-opening .label-wrap.open", state="detached")
    assert page.evaluate("document.activeElement.id") == "viz-tab-explore"
    page.wait_for_selector(".viz-predictions[data-painted]")
    first = page.inner_text(".viz-guess li:first-child bdi")
    expected = predictions(vz.load(folder, device="cpu"), trace)[0]
    assert first == expected.labels[0]


def test_a_small_vocabulary_is_listed_whole(grammar):
    models = Models(local=True, device="cpu")
    words = grammar.reader.tokenizer.get_vocab()
    listed = model_panel(models, "grammar").split("<details")[1].split("</details>")[0]
    assert f"The {len(words)} words it knows" in listed
    said = re.findall(r"\S+", html.unescape(listed.split("<p>")[1].removesuffix("</p>")))
    assert said == sorted(words, key=words.get)
    assert "<details" not in model_panel(models, "all-MiniLM-L6-v2")


def copied(folder, target):
    target.mkdir()
    for file in folder.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    return target


def test_a_folder_that_changed_is_read_again(folder, tmp_path):
    copy, models = copied(folder, tmp_path / "again"), Models(local=True, device="cpu")
    name = models.open(str(copy))
    first = models.get(name)
    assert models.open(str(copy)) == name and models.get(name) is first
    save(Case("x", "bert", build("ForMaskedLM", num_labels=2), None), copy)
    (copy / "README.md").write_text("changed")
    assert models.open(str(copy)) == name and models.get(name) is not first


def test_what_could_not_be_loaded_is_not_listed(folder, tmp_path):
    copy, models = copied(folder, tmp_path / "broken"), Models(local=True, device="cpu")
    (copy / "tokenizer.json").write_text("{")
    with pytest.raises(CheckpointError):
        models.open(str(copy))
    assert "broken" not in models.names()
    (copy / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    assert models.get(models.open(str(copy))).config.n_layers == 3


def test_a_built_in_name_is_itself():
    models = Models(local=True, device="cpu")
    assert models.open("grammar") == "grammar" and models.names().count("grammar") == 1
    assert models.open(str(BUILTIN["grammar"].locate())) == "grammar"


def _not_installed():
    raise CheckpointError("grammar is not installed.")


def test_another_model_of_a_built_in_ones_name_is_never_taken_for_it(folder, tmp_path, monkeypatch):
    copy, built = copied(folder, tmp_path / "grammar"), str(BUILTIN["grammar"].locate())
    models = Models(own=vz.load(copy, device="cpu"), local=True, device="cpu")
    name = models.open(built)
    assert name == "grammar (2)" and models.get(name).config != models.get("grammar").config
    gone = replace(BUILTIN["grammar"], locate=_not_installed)
    monkeypatch.setitem(BUILTIN, "grammar", gone)
    assert Models(local=True, device="cpu").open(str(copy)) == "grammar (2)"


@pytest.mark.parametrize("name", ["x" * 300, "/" + "x" * 300, "a\0b", "~nobody-x/a"])
@pytest.mark.parametrize("local", [True, False])
def test_names_that_are_no_paths_are_answered_plainly(name, local):
    with pytest.raises(SelectionError):
        Models(local=local).look(name)


@pytest.mark.parametrize("name", ["../../etc", "/etc/nope", "x" * 300])
def test_a_public_server_tells_nothing_of_its_folders(name):
    with pytest.raises(SelectionError, match="opens no other models"):
        Models().look(name)


@pytest.mark.parametrize("public", [True, slow(False)])
def test_a_client_cannot_name_a_file_of_the_server(tmp_path, public):
    """Gradio copies what looks like an uploaded file to where it is served from."""
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden words")
    sent = {"path": str(secret), "meta": {"_type": "gradio.FileData"}}
    with serving(make_app(ServerSettings(public=public))) as site:
        for data in (["text", sent, "", "grammar", None, "scene"], [sent]):
            for index in range(8):
                session = f"s{index}{len(data)}"
                joined = {"data": data, "fn_index": index, "session_hash": session}
                httpx.post(f"{site}gradio_api/queue/join", json=joined)
                told = httpx.get(f"{site}gradio_api/queue/data?session_hash={session}", timeout=60)
                found = set(re.findall(r"/[\w./-]*secret\.txt", told.text))
                for path in found:
                    got = httpx.get(f"{site}gradio_api/file={path}")
                    assert "hidden words" not in got.text
