"""Watch: long work goes on while its sender listens for it, and for so many seconds at most."""

import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs

from gradio.context import LocalContext
from starlette.types import ASGIApp, Receive, Scope, Send

from viz_encoder.errors import VizEncoderError
from viz_encoder.ui.state.limits import Limits, require_time

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


@dataclass(frozen=True)
class Listened:
    """Counts the streams while they are open."""

    app: ASGIApp
    listeners: Listeners = LISTENERS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does."""
        name = _name(scope) if scope["type"] == "http" and scope["method"] == "GET" else ""
        if not name:
            return await self.app(scope, receive, send)
        self.listeners.count(name, 1)
        try:
            await self.app(scope, receive, send)
        finally:
            self.listeners.count(name, -1)


def _name(scope: Scope) -> str:
    """The session or the event of a stream; "" of any other request."""
    if scope["path"].endswith(STREAM):
        return parse_qs(scope["query_string"].decode("latin-1")).get("session_hash", [""])[0]
    found = RESULT.search(scope["path"])
    return found[1] if found else ""


class SenderLeft(VizEncoderError):
    """Nobody waits for the result any more."""


class WorkWatch:
    """Asked at each step of a piece of work, from when it begins."""

    def __init__(
        self,
        limits: Limits,
        names: set[str] | None = None,
        listeners: Listeners = LISTENERS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Work for the listeners of these names; without a name, only its time is counted."""
        self._limits, self._names, self._listeners, self._clock = limits, names, listeners, clock
        self._begun = self._heard = clock()

    def check(self, share: float = 0.0) -> None:
        """Go on.

        Raises:
            SenderLeft: nobody has listened for a while.
            TooLong: the time is over.
        """
        now = self._clock()
        if not self._names or self._listeners.heard(self._names):
            self._heard = now
        if now - self._heard > self._limits.left_seconds:
            raise SenderLeft("Stopped: no one was waiting for the result.")
        require_time(now - self._begun, self._limits)

    def report(self, share: float, words: str) -> None:
        """Report progress with a description of the work."""
        self.check(share)


def watched(limits: Limits) -> WorkWatch:
    """A watch over the event that Gradio runs in this thread."""
    request = LocalContext.request.get(None)
    event, session = LocalContext.event_id.get(None), getattr(request, "session_hash", None)
    return WorkWatch(limits, {name for name in (event, session) if name})
