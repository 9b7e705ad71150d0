"""Progress: long work as lines of JSON, each share that is done and at last the result.

Whoever closes the connection stops the work at its next step.
"""

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi.responses import StreamingResponse

from viz_encoder.errors import VizEncoderError

PATIENCE = 5.0  # seconds without a share, after which a line tells that the work goes on
NO_MEMORY = "That needs more memory than is available; shorten the input."
UNFORESEEN = "That could not be computed; the server's log says why. Try another input."
Progress = Callable[[float], None]
Work = Callable[[Progress], dict[str, Any]]


class Stopped(Exception):
    """The client has closed the connection."""


def progress_lines(work: Work, at_once: threading.Semaphore) -> StreamingResponse:
    """The work's shares and its result, a line each; so many pieces of work at a time."""
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(
        json_lines(work, at_once), media_type="application/x-ndjson", headers=headers
    )


async def json_lines(work: Work, at_once: threading.Semaphore) -> AsyncIterator[str]:
    """The lines; closing the iterator stops the work. Who waits holds no thread of the server's."""
    told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    loop, stop = asyncio.get_running_loop(), threading.Event()

    def tell(line: dict[str, Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the server has stopped
            loop.call_soon_threadsafe(told.put_nowait, line)

    threading.Thread(target=_run, args=(work, at_once, tell, stop), daemon=True).start()
    line: dict[str, Any] = {"done": 0.0}
    try:
        yield _line(line)
        while "done" in line:
            with contextlib.suppress(TimeoutError):  # then the share of before, again
                line = await asyncio.wait_for(told.get(), PATIENCE)
            yield _line(line)
    finally:
        stop.set()


def _run(
    work: Work,
    at_once: threading.Semaphore,
    tell: Callable[[dict[str, Any]], None],
    stop: threading.Event,
) -> None:
    def progress(share: float) -> None:
        if stop.is_set():
            raise Stopped
        tell({"done": round(share, 4)})

    try:
        with at_once:
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
