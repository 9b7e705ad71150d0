"""Watch: long work goes on while its sender waits for it, and for so many seconds at most."""

import time
from collections.abc import Callable

from gradio.context import LocalContext

from viz_encoder.errors import VizEncoderError
from viz_encoder.ui.state.limits import Limits, require_time


class SenderLeft(VizEncoderError):
    """Nobody waits for the result any more."""


class WorkWatch:
    """Asked at each step of a piece of work, from when it begins."""

    def __init__(
        self,
        limits: Limits,
        wanted: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Work that goes on while it is wanted."""
        self._limits, self._wanted, self._clock = limits, wanted, clock
        self._begun = clock()

    def check(self, share: float = 0.0) -> None:
        """Go on.

        Raises:
            SenderLeft: the client has disconnected.
            TooLong: the work has reached its time limit.
        """
        if not self._wanted():
            raise SenderLeft("Stopped: no one was waiting for the result.")
        require_time(self._clock() - self._begun, self._limits)

    def report(self, share: float, words: str) -> None:
        """Report progress with a description of the work."""
        self.check(share)


def watched(limits: Limits) -> WorkWatch:
    """A watch over the event that Gradio runs in this thread, which it lets die with its stream."""
    page, number = LocalContext.blocks.get(None), LocalContext.event_id.get(None)
    event = page._queue.event_ids_to_events.get(number) if page and number else None
    return WorkWatch(limits, lambda: event is None or event.alive)
