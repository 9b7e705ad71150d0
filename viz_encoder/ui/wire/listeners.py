"""Listeners: which of Gradio's events somebody still waits for, by the streams that are open."""

import re
import threading
from collections import Counter
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Receive, Scope, Send

RESULT = re.compile(r"/gradio_api/call/(?:v2/)?[^/]+/([^/]+)$")
STREAM = "/gradio_api/queue/data"


class Listeners:
    """Open streams, by the session or the event whose results they carry; for all threads."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self._lock = threading.Lock()

    def heard(self, names: set[str]) -> bool:
        """Whether somebody listens to any of these."""
        with self._lock:
            return any(name in self._open for name in names)

    def count(self, name: str, more: int) -> None:
        """Count one listener more or less."""
        with self._lock:
            self._open[name] += more
            if not self._open[name]:
                del self._open[name]


LISTENERS = Listeners()  # names are unguessable, so servers of one process may share it


class Listened:
    """Counts the streams while they are open."""

    def __init__(self, app: ASGIApp, listeners: Listeners = LISTENERS) -> None:
        self._app, self._listeners = app, listeners

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does."""
        name = _name(scope) if scope["type"] == "http" and scope["method"] == "GET" else ""
        if not name:
            return await self._app(scope, receive, send)
        self._listeners.count(name, 1)
        try:
            await self._app(scope, receive, send)
        finally:
            self._listeners.count(name, -1)


def _name(scope: Scope) -> str:
    """The session or the event of a stream; "" of any other request."""
    if scope["path"].endswith(STREAM):
        return parse_qs(scope["query_string"].decode("latin-1")).get("session_hash", [""])[0]
    found = RESULT.search(scope["path"])
    return found[1] if found else ""
