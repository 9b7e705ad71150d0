"""Watch: long work goes on while its sender waits for it, and for so many seconds at most."""

import time
from collections.abc import Callable

from gradio.context import LocalContext

from viz_encoder.errors import VizEncoderError
from viz_encoder.ui.state.limits import Limits, require_time
from viz_encoder.ui.wire.listeners import LISTENERS, Listeners


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
