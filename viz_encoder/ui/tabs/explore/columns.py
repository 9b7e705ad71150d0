"""One key's column as shown, computed in blocks of rows while a client waits for it."""

import asyncio
import threading
from collections.abc import Iterator

import numpy as np
from fastapi import Request
from starlette.concurrency import run_in_threadpool

from viz_encoder.analyses.column import column_blocks
from viz_encoder.analyses.overview import overview
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import MapView
from viz_encoder.trace.token_selection import place_of, shown_tokens

POLL_SECONDS = 0.1
ROWS = 512  # between two looks at whether it is still wanted


def column_of(trace: Trace, view: MapView, key: int) -> Iterator[np.ndarray]:
    """The weights on one key, query by query, with what the view hides, divides or merges."""
    if view.as_it_ran:
        return column_blocks(trace, view.layer, view.head, key)
    kept = shown_tokens(trace, hide_special=view.hide_special, words=view.words)
    at = place_of(kept, key, trace, "key")
    parts = (
        overview(
            *(trace, view.layer, view.head),
            rows=slice(start, start + ROWS),
            keys=slice(at, at + 1),
            size=ROWS,
            tokens=kept,
            renormalize=view.renormalize,
        )
        for start in range(0, len(kept), ROWS)
    )
    return (part.values[:, 0] for part in parts)


async def while_wanted(parts: Iterator[np.ndarray], request: Request) -> np.ndarray:
    """Join all parts, unless the client disconnects: then stop after the next part."""
    gone = threading.Event()

    def work() -> np.ndarray:
        done = [next(parts)]
        for part in parts:
            if gone.is_set():
                break
            done.append(part)
        return np.concatenate(done)

    working = asyncio.ensure_future(run_in_threadpool(work))
    while not working.done():
        await asyncio.wait([working], timeout=POLL_SECONDS)
        if await request.is_disconnected():
            gone.set()
    return await working
