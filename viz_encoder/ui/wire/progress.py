"""Progress: long work as lines of JSON, each share that is done and at last the result.

Whoever closes the connection stops the work at its next step.
"""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse

from viz_encoder.arguments import Progress
from viz_encoder.errors import VizEncoderError
from viz_encoder.ui.state.limits import LOCAL, Limits, require_time
from viz_encoder.ui.wire.clients import client_of
from viz_encoder.ui.wire.concurrency import Places

PATIENCE = 5.0  # seconds without a share, after which a line tells that the work goes on
NO_MEMORY = "That needs more memory than is available; shorten the input."
UNFORESEEN = "That could not be computed; the server's log says why. Try another input."
Work = Callable[[Progress], dict[str, Any]]


class Stopped(Exception):
    """The client has closed the connection."""


def progress_lines(
    work: Work, places: Places, request: Request, limits: Limits
) -> StreamingResponse:
    """The work's shares and its result, a line each; so many pieces of work at a time."""
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(
        json_lines(work, places, client_of(request), limits),
        media_type="application/x-ndjson",
        headers=headers,
    )


async def json_lines(
    work: Work, places: Places, client: str = "", limits: Limits = LOCAL
) -> AsyncIterator[str]:
    """The lines; closing the iterator stops the work. Who waits holds no thread."""
    told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    loop, stop = asyncio.get_running_loop(), threading.Event()

    def tell(line: dict[str, Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the server has stopped
            loop.call_soon_threadsafe(told.put_nowait, line)

    def run() -> None:
        try:
            _run(work, tell, stop, limits)
        finally:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(place.leave)

    line: dict[str, Any] = {"done": 0.0}
    place = places.line()
    entered = asyncio.ensure_future(place.enter(client))
    thread = threading.Thread(target=run, daemon=True)
    entered.add_done_callback(lambda turn: None if turn.cancelled() else thread.start())
    try:
        yield _line(line)
        while "done" in line:
            with contextlib.suppress(TimeoutError):  # then the share of before, again
                line = await asyncio.wait_for(told.get(), PATIENCE)
            yield _line(line)
    finally:
        stop.set()
        entered.cancel()


def _run(
    work: Work, tell: Callable[[dict[str, Any]], None], stop: threading.Event, limits: Limits
) -> None:
    begun = time.monotonic()

    def progress(share: float) -> None:
        if stop.is_set():
            raise Stopped
        require_time(time.monotonic() - begun, limits)
        tell({"done": round(share, 4)})

    try:
        progress(0.0)
        tell({"result": work(progress)})
    except Stopped:
        pass
    except VizEncoderError as fault:
        tell({"message": str(fault)})
    except MemoryError:
        tell({"message": NO_MEMORY})
    except Exception:
        tell({"message": UNFORESEEN})
        raise  # to the log


def _line(content: dict[str, Any]) -> str:
    return json.dumps(content) + "\n"
