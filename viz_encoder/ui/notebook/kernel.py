"""The kernel's side of a live view: the routes of the Explore tab, asked without a server."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from fastapi import FastAPI

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.trace import Trace
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.state.restoring import FirstRun
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.saved_run import keep_saved
from viz_encoder.ui.state.store import TraceStore
from viz_encoder.ui.tabs.explore.routes import ROUTER
from viz_encoder.ui.wire import run_facts
from viz_encoder.ui.wire.errors import add_error_sentences

HTTP = {"type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1"}


@dataclass(frozen=True)
class AnswerPart:
    """A piece of an answer; of the first, `about` is its status and headers."""

    content: bytes
    more: bool
    about: Mapping[str, Any]


class Kernel:
    """Answers what the Explore tab asks about one run."""

    def __init__(self, trace: Trace, encoder: LoadedEncoder | None = None) -> None:
        """The model is what shares and effects need; a built-in one is found by its name."""
        self._store, models = TraceStore(), Models(own=encoder, local=True)
        self.key = keep_saved(self._store, models, trace)
        self._store.hold(self.key)
        runner = Runner(models, self._store, self.key)
        self._app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
        self._app.state.runner, self._app.state.first_run = runner, FirstRun(runner)
        for router in (run_facts.ROUTER, ROUTER):
            self._app.include_router(router)
        add_error_sentences(self._app)

    def trace(self, key: str) -> Trace:
        """The run that is looked at: the first, or one that was made from it by changes.

        Raises:
            Expired: it is not held any more.
        """
        return self._store.get(key or self.key).trace

    async def answer(self, path: str, body: str | None = None) -> AsyncGenerator[AnswerPart]:
        """The parts of an answer, as they come; closing the iterator stops the work."""
        told: asyncio.Queue[Any] = asyncio.Queue()
        asked = asyncio.ensure_future(self._app(_scope(path, body), _receive(body), told.put))
        asked.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        try:
            start, more = await told.get(), True
            about: dict[str, Any] = {"status": start["status"], "headers": _named(start["headers"])}
            while more:
                said = await told.get()
                more = said.get("more_body", False)
                yield AnswerPart(said.get("body", b""), more, about)
                about = {}
        finally:
            asked.cancel()


def _scope(path: str, body: str | None) -> dict[str, Any]:
    place, _, query = path.partition("?")
    raw = f"/{place}".encode()
    asked = {"path": unquote(f"/{place}"), "raw_path": raw, "query_string": query.encode()}
    made: dict[str, Any] = {
        "method": "GET" if body is None else "POST",
        "headers": [],
        "root_path": "",
    }
    return {**HTTP, **asked, **made, "scheme": "http", "server": ("kernel", None), "client": None}


def _receive(body: str | None) -> Any:
    """The app's receive channel: the body, then no event, since a kernel never disconnects."""
    sent = iter([{"type": "http.request", "body": (body or "").encode(), "more_body": False}])

    async def receive() -> dict[str, Any]:
        for message in sent:
            return message
        await asyncio.Event().wait()
        raise AssertionError

    return receive


def _named(listed: Any) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in listed}
