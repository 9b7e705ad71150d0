"""A hub on this machine, as the real client sees it: models, redirects, faults and slow answers."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from huggingface_hub import constants

from tests.checkpoints.cases.bert import build
from tests.checkpoints.parity import Case, save

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CHUNK = 1 << 16
MOVED = {"bert-base-uncased": "google-bert/bert-base-uncased"}  # as the real one keeps them


@dataclass
class Hub:
    """What the hub holds, what it was asked, and how it misbehaves."""

    models: dict[str, dict[str, bytes]] = field(default_factory=dict)
    license: str = "mit"
    faults: dict[str, int] = field(default_factory=dict)  # a status for all questions of a model
    gated: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    said: dict[str, bytes] = field(default_factory=dict)  # an answer in place of a model's facts
    go: threading.Event = field(default_factory=threading.Event)  # while not set: no second chunk
    answer: threading.Event = field(default_factory=threading.Event)  # while not set: no answer
    address: str = ""

    def hold(self, name: str, folder: Path) -> None:
        """Put a folder there as a model."""
        files = (path for path in folder.rglob("*") if path.is_file())
        self.models[name] = {str(f.relative_to(folder)): f.read_bytes() for f in files}

    def brought(self) -> list[str]:
        """The files that were downloaded whole or in part, config.json apart."""
        found = [path.rpartition("/")[2] for path in self.asked if path.startswith("GET /")]
        resolved = [path for path in self.asked if path.startswith("GET ") and "/resolve/" in path]
        names = {path.rpartition("/")[2] for path in resolved}
        return sorted(names & set(found) - {"config.json"})


def tiny_bert(folder: Path) -> Path:
    """A tiny BERT, as transformers writes it, with a README, a pickle and code beside it."""
    folder.mkdir()
    save(Case("x", "bert", build("ForMaskedLM"), None), folder)
    (folder / "README.md").write_text("---\nlicense: mit\n---\n")
    (folder / "pytorch_model.bin").write_bytes(b"a pickle" * 1000)
    (folder / "modeling.py").write_text("raise SystemExit")
    return folder


@contextmanager
def pretended_hub(cache: Path) -> Iterator[Hub]:
    """Let huggingface_hub's client ask this machine, and store in a cache of the test's own."""
    hub = Hub()
    hub.go.set()
    hub.answer.set()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Asked", (_Asked,), {"hub": hub}))
    server.daemon_threads = True
    # It looks so often whether it shall stop; by default, each test would end half a second later.
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    with pytest.MonkeyPatch.context() as patch:
        template = hub.address + "/{repo_id}/resolve/{revision}/{filename}"
        patch.setattr(constants, "ENDPOINT", hub.address)
        patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        patch.setattr(constants, "HF_HUB_CACHE", str(cache))
        patch.setattr(constants, "HF_HUB_OFFLINE", False)
        patch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        patch.setattr("huggingface_hub.utils._http._DEFAULT_RETRY_ON_STATUS_CODES", ())
        try:
            yield hub
        finally:
            hub.go.set()
            hub.answer.set()
            server.shutdown()
            server.server_close()


class _Asked(BaseHTTPRequestHandler):
    """One question."""

    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._reply()

    def do_GET(self) -> None:
        self._reply()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _reply(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(f"{self.command} {path}")
        self.hub.answer.wait(60)
        api = path.startswith("/api/models/")
        rest = path.removeprefix("/api/models/").strip("/")
        name, _, inner = rest.partition("/tree/" if "/tree/" in rest else "/revision/") \
            if api else rest.partition("/resolve/")  # fmt: skip
        if name in MOVED:
            self._send(307, headers={"Location": path.replace(name, MOVED[name], 1)})
        elif name in self.hub.faults:
            self._send(self.hub.faults[name])
        elif name not in self.hub.models:
            self._send(404, headers={"X-Error-Code": "RepoNotFound"})
        elif inner and not api and name in self.hub.gated:
            self._send(403, headers={"X-Error-Code": "GatedRepo"})
        elif inner.partition("/")[0] not in ("", "main", COMMIT):
            self._send(404, headers={"X-Error-Code": "RevisionNotFound"})
        elif api:
            self._send(200, self.hub.said.get(name) or self._facts(name, "/tree/" in rest))
        else:
            self._file(name, inner.partition("/")[2])

    def _facts(self, name: str, tree: bool) -> bytes:
        files = self.hub.models[name]
        if tree:
            listed = [
                {"type": "file", "path": path, "size": len(content), "oid": _digest(content)[:40]}
                for path, content in files.items()
            ]
            return json.dumps(listed).encode()
        siblings = [{"rfilename": path, "size": len(content)} for path, content in files.items()]
        said = {
            **{"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings},
            **{"tags": [f"license:{self.hub.license}"], "cardData": {"license": self.hub.license}},
            "gated": "auto" if name in self.hub.gated else False,
        }
        return json.dumps(said).encode()

    def _file(self, name: str, path: str) -> None:
        content = self.hub.models[name].get(path)
        if content is None:
            self._send(404, headers={"X-Error-Code": "EntryNotFound"})
            return
        marks = {"ETag": f'"{_digest(content)}"', "X-Repo-Commit": COMMIT}
        self._send(200, content, marks)

    def _send(self, status: int, content: bytes = b"", headers: dict[str, str] | None = None):
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "HEAD":
            return
        for start in range(0, len(content), CHUNK):
            if start:
                self.hub.go.wait(60)
            try:
                self.wfile.write(content[start : start + CHUNK])
            except OSError:  # who asked has gone
                return


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
