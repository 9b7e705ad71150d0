"""TimedConnection: uvicorn's connection, closed where a request does not come to its end in time.

uvicorn itself waits for ever for the rest of a request; only between two of them it does not.
"""

import asyncio
import logging

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from viz_encoder.ui.state.limits import Limits

log = logging.getLogger(__name__)


def timed(limits: Limits) -> type[asyncio.Protocol]:
    """The protocol class for uvicorn's `http`."""

    class Timed(TimedConnection):
        """With these limits: uvicorn makes each connection itself."""

        allowed = limits

    return Timed


class TimedConnection(H11Protocol):
    """A connection whose headers, and then whose body, have so many seconds."""

    allowed: Limits
    _deadline: asyncio.TimerHandle | None = None
    _reading = ""  # headers or body
    _begun = 0.0
    _received = 0  # bytes of this body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client that says nothing has as long as one that sends its headers."""
        super().connection_made(transport)
        self._wait_for("headers")

    def data_received(self, data: bytes) -> None:
        """Hand the bytes on, and see what is missing now."""
        self._received += len(data)
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """The next request may be there already, or half of it."""
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._wait_for("")
        super().connection_lost(exc)

    def _should_upgrade(self) -> bool:
        """Never: no web socket is served here, and a request for one is answered as any other."""
        return False

    def _look(self) -> None:
        state = self.conn.their_state
        begun, _ = self.conn.trailing_data
        if state is h11.SEND_BODY:
            self._wait_for("body")
        elif state is h11.IDLE and begun:
            self._wait_for("headers")
        else:  # complete, or between two requests, of which uvicorn keeps the time
            self._wait_for("")

    def _wait_for(self, part: str) -> None:
        """Begin to wait for it; where it is waited for already, nothing changes."""
        if part == self._reading:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._reading, self._deadline = part, None
        self._begun, self._received = self.loop.time(), 0
        if part:
            seconds = (
                self.allowed.header_seconds if part == "headers" else self.allowed.body_seconds
            )
            self._deadline = self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        """Close, unless a body came fast enough to have more time, or we ourselves do not read."""
        if self._reading == "body":
            more = self._begun + self.allowed.body_seconds - self.loop.time()
            more += self._received / self.allowed.body_rate
            if self.flow.read_paused:
                more = max(more, self.allowed.body_seconds)
            if more > 0:
                self._deadline = self.loop.call_later(more, self._late)
                return
        sender = self.client[0] if self.client else "?"
        log.warning("closed %s: its %s did not come in time", sender, self._reading)
        self.transport.abort()
