"""Names of the hub, answered by a pretended one, and the licences that models state."""

import json
from pathlib import Path

import pytest
import torch
from huggingface_hub import errors
from huggingface_hub.utils import HfHubHTTPError

import viz_encoder as vz
from tests.checkpoints.test_shards import refuse, sharded
from viz_encoder.checkpoints import hub, hub_lookup, source


@pytest.fixture
def folder(tmp_path):
    return sharded(tmp_path / "model")


NAME, COMMIT = "organization/model", "0123456789abcdef0123456789abcdef01234567"


def answer(monkeypatch, fault: Exception | None = None, path: Path | None = None) -> list:
    """Let the hub's client answer with a fault or a folder; returns what it is asked for."""
    asked = []

    def pretend(name, **options):
        asked.append((name, options))
        if fault is not None:
            raise fault
        return str(path)

    monkeypatch.setattr(hub, "snapshot_download", pretend)
    monkeypatch.setattr(hub, "look_up", lambda name, *_: found(name))
    return asked


def found(name: str) -> hub.HubModel:
    """As if the hub had told of it."""
    return hub.HubModel(name, name, COMMIT, "bert", "mit", hub_lookup.FILES, n_bytes=1)


def cached(folder: Path) -> Path:
    """The checkpoint as the hub's cache lays it out: a snapshot of links to blobs."""
    repo = folder / "models--organization--model"
    sharded(repo / "blobs")
    snapshot = repo / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    for file in (repo / "blobs").iterdir():
        (snapshot / file.name).symlink_to(f"../../blobs/{file.name}")
    (snapshot / "README.md").write_text("---\nlicense: mit\n---\n")
    return snapshot


def test_a_model_of_the_hub(monkeypatch, tmp_path):
    asked = answer(monkeypatch, path=cached(tmp_path))
    encoder = vz.load(NAME, device="cpu", revision="v1.0")
    card, vectors = encoder.card, torch.randn(1, 3, encoder.config.d_model)
    assert vz.capture(encoder, vectors).origin.revision == COMMIT
    assert (card.name, card.revision, card.license) == (NAME, COMMIT, "mit")
    assert card.source == f"https://huggingface.co/{NAME}"
    (name, options), *more = asked
    assert name == NAME and not more and options["revision"] == "v1.0"
    assert all(not pattern.endswith((".bin", ".py", "*")) for pattern in options["allow_patterns"])


@pytest.mark.parametrize(
    "fault",
    [
        errors.LocalEntryNotFoundError("no\nnetwork"),
        ConnectionError("reset"),
        TimeoutError(),
        HfHubHTTPError.__bases__[0]("a proxy refused"),
        OSError(28, "No space left on device"),
    ],
)
def test_no_connection_to_the_hub(monkeypatch, fault):
    answer(monkeypatch, fault)
    refuse(NAME)


@pytest.mark.parametrize(
    "name",
    [
        "a/b/c", "../b", "a/..", "/a", "a/", "a b/c", "a/b?x=1", "https://huggingface.co/a/b",
        "a/b\n", "a/\0", "a" * 97 + "/b", "a/" + "b" * 97, "\u0430/b", "-a/b", "a\\b",
    ],
)  # fmt: skip
def test_names_that_the_hub_is_never_asked_for(monkeypatch, name):
    asked = answer(monkeypatch, path=Path("nowhere"))
    assert "A model on the hub is named organization/name" in refuse(name)
    assert not asked


@pytest.mark.parametrize(
    "revision",
    ["../../x", "/etc/passwd", "a..b", "a//b", "\0", "x" * 300, " ", "-f", "a\nb", "\ud800"],
)
def test_revisions_that_the_hub_is_never_asked_for(monkeypatch, revision):
    asked = answer(monkeypatch, path=Path("nowhere"))
    assert "is not a branch, tag or commit" in refuse(NAME, revision=revision)
    assert not asked


@pytest.mark.parametrize(
    ("readme", "says"),
    [
        ("---\nlicense: apache-2.0\n---\n# A", "apache-2.0"),
        ("---\nlanguage: en\nlicense: mit\ntags:\n- x\n---\n", "mit"),
        ('---\nlicense: "mit"\n---\n', "mit"),
        ("---\nlicense:\n- cc-by-4.0\n- mit\n---\n", "cc-by-4.0"),
        ("---\r\nlicense: mit\r\n---\r\n", "mit"),
        ("\ufeff---\nlicense: mit\n---\n", "mit"),
        ("---\nlicense_name: mine\n---\n", ""),
        ("---\nlicense:\nlanguage: en\n---\n", ""),
        ("---\nlicense: <script>alert(1)</script>\n---\n", ""),
        ("---\nlicense: [mit, gpl]\n---\n", ""),
        ("---\nlicense: mit\n", ""),
        ("# A model\nlicense: mit\n", ""),
        ("", ""),
        ("---\n" * 50_000, ""),
        ("---\n" + "license: " * 20_000, ""),
        ("---\n" + " " * 200_000 + "license: mit\n---\n", ""),
    ],
)
def test_licences_in_a_readme(tmp_path, readme, says):
    (tmp_path / "README.md").write_bytes(readme.encode())
    assert source.licence_of(tmp_path) == says


def test_what_the_card_says_of_a_licence(folder):
    assert vz.load(folder, device="cpu").card.license == "not stated"
    (folder / "README.md").write_bytes(b"---\nlicense: gpl-3.0\xff\n---")
    assert vz.load(folder, device="cpu").card.license == "not stated"
    (folder / "README.md").write_bytes(b"---\nlicense: gpl-3.0\n---")
    assert vz.load(folder, device="cpu").card.license == "gpl-3.0"


@pytest.mark.parametrize(
    ("said", "shown"),
    [("MIT", "MIT"), ("a\nb" * 100, "a ba"), (5, "not"), ({}, "not"), (["x"], "not")],
)
def test_a_licence_in_config_json(folder, said, shown):
    file = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**file, "license": said}))
    licence = vz.load(folder, device="cpu").card.license
    assert licence.startswith(shown) and len(licence) <= 80
