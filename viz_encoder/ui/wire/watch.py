"""Watch: long work goes on while its sender waits for it, and for so many seconds at most."""

import time
from collections.abc import Callable

from gradio.context import LocalContext

from viz_encoder.errors import VizEncoderError
from viz_encoder.ui.state.limits import Limits, require_time


class SenderLeft(VizEncoderError):
    """Nobody waits for the result any more."""


def watch(
    limits: Limits,
    wanted: Callable[[], bool] = lambda: True,
    clock: Callable[[], float] = time.monotonic,
) -> Callable[..., None]:
    """Work asks this at each step, which it may tell; it begins now.

    Raises, when asked:
        SenderLeft: the work is not wanted any more, for its client has disconnected.
        TooLong: the work has reached its time limit.
    """
    begun = clock()

    def check(share: float = 0.0, words: str = "") -> None:
        if not wanted():
            raise SenderLeft("Stopped: no one was waiting for the result.")
        require_time(clock() - begun, limits)

    return check


def watched(limits: Limits) -> Callable[..., None]:
    """A watch over the event that Gradio runs in this thread, which it lets die with its stream."""
    page, number = LocalContext.blocks.get(None), LocalContext.event_id.get(None)
    event = page._queue.event_ids_to_events.get(number) if page and number else None
    return watch(limits, lambda: event is None or event.alive)
