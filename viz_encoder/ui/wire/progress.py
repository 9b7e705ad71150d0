"""Progress: long work as lines of JSON, each share that is done and at last the result.

Whoever closes the connection stops the work at its next step.
"""

import contextlib
import json
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

from fastapi.responses import StreamingResponse

from viz_encoder.errors import VizEncoderError

PATIENCE = 5.0  # seconds without a share, after which a line tells that the work goes on
NO_MEMORY = "That needs more memory than is available; shorten the input."
UNFORESEEN = "That could not be computed; the server's log says why. Try another input."
Progress = Callable[[float], None]
Work = Callable[[Progress], dict[str, Any]]


class Stopped(Exception):
    """Nobody waits for the work any more."""


def progress_lines(work: Work, at_once: threading.Semaphore) -> StreamingResponse:
    """The work's shares and its result, a line each; so many pieces of work at a time."""
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(
        json_lines(work, at_once), media_type="application/x-ndjson", headers=headers
    )


def json_lines(work: Work, at_once: threading.Semaphore) -> Iterator[str]:
    """The lines; closing the iterator stops the work."""
    told: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    stop = threading.Event()
    worker = threading.Thread(target=_run, args=(work, at_once, told, stop), daemon=True)
    worker.start()
    line: dict[str, Any] = {"done": 0.0}
    try:
        yield _line(line)
        while "done" in line:
            with contextlib.suppress(queue.Empty):  # then the share of before, again
                line = told.get(timeout=PATIENCE)
            yield _line(line)
    finally:
        stop.set()


def _run(
    work: Work,
    at_once: threading.Semaphore,
    told: "queue.SimpleQueue[dict[str, Any]]",
    stop: threading.Event,
) -> None:
    def progress(share: float) -> None:
        if stop.is_set():
            raise Stopped
        told.put({"done": round(share, 4)})

    try:
        with at_once:
            progress(0.0)
            told.put({"result": work(progress)})
    except Stopped:
        pass
    except VizEncoderError as fault:
        told.put({"message": str(fault)})
    except MemoryError:
        told.put({"message": NO_MEMORY})
    except Exception:
        told.put({"message": UNFORESEEN})
        raise  # to the log


def _line(content: dict[str, Any]) -> str:
    return json.dumps(content) + "\n"
