"""Models of a pretended hub through the real client: looked up, brought, stopped, kept, refused."""

import errno
import json
import os
import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest
from huggingface_hub import constants
from huggingface_hub.errors import LocalEntryNotFoundError
from huggingface_hub.utils import HfHubHTTPError

import viz_encoder as vz
from tests.checkpoints.faults import refuse, write_own
from tests.checkpoints.pretended_hub import COMMIT, Hub, pretended_hub, tiny_bert
from tests.checkpoints.test_shards import AXES
from viz_encoder.checkpoints import (
    cached_names,
    fetch,
    hub_lookup,
    look_up,
    plan,
    plan_cached,
    source,
)
from viz_encoder.checkpoints import hub as hub_module
from viz_encoder.checkpoints.hub import cached_folder
from viz_encoder.errors import CheckpointError, UnknownFamily, UnsafeFile

NAME, SHORT, MOVED = "organization/model", "bert-base-uncased", "google-bert/bert-base-uncased"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def hub(tmp_path, folder):
    with pretended_hub(tmp_path / "cache") as hub:
        hub.hold(NAME, folder)
        hub.hold(MOVED, folder)
        yield hub


def cache() -> list[str]:
    """The files in the local cache."""
    place = Path(constants.HF_HUB_CACHE)
    return sorted(path.name for path in place.rglob("*") if path.is_file())


def changed(hub: Hub, name: str = NAME, **files: bytes | None) -> None:
    """Other files of a model; None takes one away."""
    renamed = {key.replace("__", "."): value for key, value in files.items()}
    kept = {k: v for k, v in hub.models[name].items() if k not in renamed}
    hub.models[name] = kept | {k: v for k, v in renamed.items() if v is not None}


def config(**settings: object) -> bytes:
    return json.dumps(settings).encode()


def test_a_lookup_tells_and_keeps_nothing(hub, folder):
    found = look_up(NAME)
    wanted = {"config.json", "model.safetensors", "tokenizer.json", "README.md"}
    assert set(found.files) == wanted
    assert found.n_bytes == sum((folder / name).stat().st_size for name in wanted)
    assert (found.family, found.license, found.commit) == ("bert", "mit", COMMIT)
    assert hub.brought() == [] and cache() == []


def test_an_old_short_name(hub):
    found = look_up(SHORT)
    assert (found.name, found.id) == (SHORT, MOVED)
    encoder = vz.load(SHORT, device="cpu")
    card = encoder.card
    assert (card.name, card.revision, card.license) == (SHORT, COMMIT, "mit")
    origin = vz.capture(encoder, "w1 w2").origin
    assert (origin.model, origin.revision) == (SHORT, COMMIT)
    assert card.source == f"https://huggingface.co/{SHORT}"
    assert hub.brought() == ["README.md", "model.safetensors", "tokenizer.json"]


def test_a_folder_of_that_name_comes_first(hub, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder, tmp_path / SHORT)
    assert vz.load(SHORT, device="cpu").card.revision == ""
    assert hub.asked == []


def test_a_file_of_that_name_is_no_model(hub, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.safetensors").write_bytes(b"x")
    assert "run.safetensors is a file; give the folder" in refuse("run.safetensors")
    assert hub.asked == []


def test_a_name_that_is_nowhere_says_both(hub):
    said = refuse("no-such-model")
    assert "There is no folder 'no-such-model' here, and the hub has no public model" in said
    assert said.endswith("The built-in models are all-MiniLM-L6-v2, scene, grammar, everyday.")


def test_a_name_that_is_nearly_built_in_says_which(hub):
    meant = {"all-MiniLM-L6-v2": ("all-minilm", "ALL-MINILM-L6-V2", "MiniLM")}
    for built_in, names in (meant | {"grammar": ("grammer",), "scene": ("scenes",)}).items():
        for name in names:
            assert refuse(name).endswith(f"; did you mean {built_in!r}?")


def test_pickles_alone_are_refused_before_any_download(hub):
    changed(hub, model__safetensors=None)
    said = refuse(NAME, UnsafeFile)
    assert "only pickled weights on the hub (pytorch_model.bin)" in said
    assert "save_pretrained(folder)" in said
    assert hub.brought() == [] and cache() == []


CONFIGS = [
    (config(model_type="mamba"), UnknownFamily, "model_type 'mamba'; we load"),
    (config(model_type="bert", auto_map={"AutoModel": "x.Y"}), UnsafeFile, "auto_map"),
    (b"[1]", CheckpointError, "cannot be read"),
    (b"<html>", CheckpointError, "a proxy or a login page"),
    (b"[" * 100_000, CheckpointError, "cannot be read"),
    (None, CheckpointError, "has no config.json"),
]


def test_what_cannot_be_loaded_is_not_downloaded(hub):
    for content, kind, says in CONFIGS:
        changed(hub, config__json=content)
        assert says in refuse(NAME, kind)
    assert hub.brought() == [] and cache() == []


def test_a_config_of_many_megabytes_is_not_asked_for(hub, monkeypatch):
    monkeypatch.setattr(hub_lookup, "MAX_JSON_BYTES", 10)
    assert "config.json of organization/model is over" in refuse(NAME, UnsafeFile)
    assert not any("/resolve/" in each for each in hub.asked)


def test_shards_are_counted_where_there_is_no_whole_file(hub, folder):
    weights = hub.models[NAME]["model.safetensors"]
    shards = {"model-00001-of-00002.safetensors": weights, "model.safetensors.index.json": b"{}"}
    hub.models[NAME] |= shards
    assert not set(shards) & set(look_up(NAME).files)
    changed(hub, model__safetensors=None)
    assert set(shards) <= set(look_up(NAME).files)


def test_what_sentence_transformers_adds_comes_too(hub):
    more = ("modules.json", "1_Pooling/config.json", "2_Dense/model.safetensors")
    hub.models[NAME] |= dict.fromkeys((*more, "onnx/model.safetensors", "2_Dense/x.py"), b"{}")
    files = look_up(NAME).files
    assert set(more) <= set(files) and not {"onnx/model.safetensors", "2_Dense/x.py"} & set(files)


def test_statuses_of_the_hub(hub):
    for status, says in (
        (429, "too many requests from here (429)"),
        (503, "a problem of its own (503)"),
        (418, "The hub did not give organization/model"),
    ):
        hub.faults[NAME] = status
        assert says in refuse(NAME)


def test_gated_models_and_revisions(hub):
    hub.gated.add(NAME)
    assert "hf auth login" in refuse(NAME)
    assert "has no revision 'v9'" in refuse(MOVED, revision="v9")
    assert hub.brought() == []


def test_what_answers_in_the_hubs_place(hub):
    for said in (b"<html>Please log in to this network</html>", b"[]"):
        hub.said[NAME] = said
        assert "is there a proxy or a login page in between?" in refuse(NAME)


def test_a_hub_that_does_not_answer(hub, monkeypatch):
    hub.answer.clear()
    monkeypatch.setattr(hub_lookup, "SECONDS", 0.2)
    assert "the hub did not answer in time" in refuse(NAME)
    monkeypatch.setattr(hub_lookup, "SECONDS", 60.0)
    monkeypatch.setattr(hub_module, "PATIENCE", 0.3)
    assert "did not answer within 0 seconds" in refuse(NAME)


@pytest.mark.parametrize("how", ["offline", "fault"])
def test_what_was_downloaded_opens_without_the_hub(hub, monkeypatch, how):
    encoder = vz.load(NAME, device="cpu")
    hub.asked.clear()
    if how == "offline":
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    else:
        hub.faults[NAME] = 503
    again = vz.load(NAME, device="cpu")
    assert again.card == encoder.card
    assert how == "fault" or hub.asked == []
    if how == "offline":
        assert "HF_HUB_OFFLINE is set; unset it" in refuse(MOVED)


def test_the_cache_lists_what_is_whole_and_asks_nobody(hub, tmp_path):
    for name in (NAME, SHORT):
        vz.load(name, device="cpu")
    place = Path(constants.HF_HUB_CACHE)
    (place / "datasets--a--b").mkdir()
    (place / "models--a--empty" / "snapshots").mkdir(parents=True)
    hub.asked.clear()
    assert cached_names() == ["a/empty", SHORT, NAME]
    assert plan_cached("a/empty") is None and plan_cached("../x") is None
    for name in (NAME, SHORT):
        found = plan_cached(name)
        assert found.card.revision == COMMIT and found.card.name == name
    assert cached_folder(MOVED) is None  # stored under the name that was asked for
    next(place.glob("models--organization--model/snapshots/*/model.safetensors")).unlink()
    assert plan_cached(NAME) is None
    assert hub.asked == []


def test_a_short_name_finds_what_is_stored_under_the_long_one(hub):
    vz.load(MOVED, device="cpu")
    hub.asked.clear()
    assert plan_cached(SHORT).card.revision == COMMIT and hub.asked == []


def test_a_download_is_told_and_can_be_stopped(hub):
    class Stopped(Exception):
        pass

    shares = []

    def stop(share: float) -> None:
        shares.append(share)
        if share > 0:
            raise Stopped

    hub.models[NAME]["model.safetensors"] += b"\0" * 200_000  # in several pieces
    found = look_up(NAME)
    hub.go.clear()  # after the first piece the network stands still
    with pytest.raises(Stopped):
        fetch(found, tell=stop)
    assert 0 < shares[-1] < 1 and shares == sorted(shares)
    assert plan_cached(NAME) is None


def test_without_room_nothing_is_begun(hub, monkeypatch):
    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    assert "Set HF_HOME to a folder with more room" in refuse(NAME)
    assert hub.brought() == []


FAULTS = [
    (LocalEntryNotFoundError("no\nnetwork"), "the hub cannot be reached from here"),
    (ConnectionError("reset"), "the hub cannot be reached from here"),
    (TimeoutError(), "the hub did not answer in time"),
    (HfHubHTTPError.__bases__[0]("a proxy refused"), "the hub cannot be reached from here"),
    (OSError(errno.ENOSPC, "No space left"), "in the hub's local cache: No space left"),
]


def test_a_download_that_fails_says_why(hub, monkeypatch):
    for fault, says in FAULTS:
        failing = Mock(side_effect=fault)
        monkeypatch.setattr(hub_module, "snapshot_download", failing)
        assert says in refuse(NAME)


def test_what_the_hub_is_never_asked_for(hub):
    for name in (
        *("a/b/c", "../b", "a/..", "/a", "a/", "a b/c", "a/b?x=1", "https://huggingface.co/a/b"),
        *("a/b\n", "a/\0", "a" * 97 + "/b", "a/" + "b" * 97, "\u0430/b", "-a/b", "a\\b"),
    ):
        assert "A model on the hub is named organization/name" in refuse(name)
    for revision in (
        *("../../x", "/etc/passwd", "a..b", "a//b", "\0", "x" * 300, " ", "-f", "a\nb", "\ud800"),
    ):
        assert "is not a branch, tag or commit" in refuse(NAME, revision=revision)
    assert not hub.asked


def test_the_store_that_all_models_share(hub, tmp_path):
    """Newer clients let a repository's blobs be links to blobs/ab/… of the whole cache."""
    vz.load(NAME, device="cpu")
    place = Path(constants.HF_HUB_CACHE)
    (place / "blobs" / "ab").mkdir(parents=True)
    weights = next(place.glob("models--*/snapshots/*/model.safetensors")).resolve()
    store = place / "blobs" / "ab" / "shared"
    weights.rename(store)
    weights.symlink_to(os.path.relpath(store, weights.parent))
    assert plan(NAME).card.revision == COMMIT
    elsewhere = tmp_path / "elsewhere"
    store.rename(elsewhere)
    weights.unlink()
    weights.symlink_to(elsewhere)
    with pytest.raises(UnsafeFile, match="leaves the folder"):
        plan(NAME)


READMES = {
    "---\nlicense: apache-2.0\n---\n# A": "apache-2.0",
    "---\nlanguage: en\nlicense: mit\ntags:\n- x\n---\n": "mit",
    '---\nlicense: "mit"\n---\n': "mit",
    "---\nlicense:\n- cc-by-4.0\n- mit\n---\n": "cc-by-4.0",
    "---\r\nlicense: mit\r\n---\r\n": "mit",
    "\ufeff---\nlicense: mit\n---\n": "mit",
    "---\nlicense_name: mine\n---\n": "",
    "---\nlicense:\nlanguage: en\n---\n": "",
    "---\nlicense: <script>alert(1)</script>\n---\n": "",
    "---\nlicense: [mit, gpl]\n---\n": "",
    "---\nlicense: mit\n": "",
    "# A model\nlicense: mit\n": "",
    "": "",
    "---\n" * 50_000: "",
    "---\n" + "license: " * 20_000: "",
    "---\n" + " " * 200_000 + "license: mit\n---\n": "",
}


def test_licences_in_a_readme(tmp_path):
    for readme, says in READMES.items():
        (tmp_path / "README.md").write_bytes(readme.encode())
        assert source.licence_of(tmp_path) == says, readme[:80]


def test_what_the_card_says_of_a_licence(tmp_path):
    folder = write_own(tmp_path, AXES)
    readme = folder / "README.md"
    assert vz.load(folder, device="cpu").card.license == "not stated"
    for content, says in ((b"gpl-3.0\xff", "not stated"), (b"gpl-3.0", "gpl-3.0")):
        readme.write_bytes(b"---\nlicense: " + content + b"\n---")
        assert vz.load(folder, device="cpu").card.license == says
    readme.unlink()
    for said, shown in (("MIT", "MIT"), ("a\nb" * 100, "a ba"), (5, "not"), ({}, "not")):
        write_own(folder, AXES, license=said)
        licence = vz.load(folder, device="cpu").card.license
        assert licence.startswith(shown) and len(licence) <= 80
