"""Limits: what one request, one client and one piece of work may take; two ways to serve."""

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from viz_encoder.errors import TooLong

MB = 10**6


@dataclass(frozen=True)
class Limits:
    """Every number by which a request is refused, or work is stopped; None = no such limit.

    The usual numbers are those of a person's own machine.
    """

    upload_bytes: int = 200 * MB  # largest file
    values: int = 1_000_000  # numbers, texts, lists and objects in the JSON of one request
    bodies_bytes: int | None = None  # total of all requests being read or answered
    header_seconds: float = 10.0  # from the connection until a request's headers are complete
    body_seconds: float = 20.0  # for its body; a second more for each `body_rate` bytes
    body_rate: int = 16_000  # bytes a second
    set_items: int | None = None  # texts or pictures of a set
    set_tokens: int | None = None  # tokens and patches of a set
    corpus_texts: int = 2_000  # per corpus on the page; `set_tokens` applies too
    table_bytes: int = 200 * MB  # per table of heads, opened or saved
    packed_tables: bool = True  # whether Parquet and npz are opened, which may unfold to any size
    saved_cells: int | None = None  # all maps of an opened saved run; each is recomputed
    built_weights: int = 400 * MB  # untrained encoder built on the page
    work_seconds: float | None = None  # for a set, a training or the effects of all heads
    queue_places: int = 64  # waiting in each queue; two classes of 30 may press Run at once
    client_runs: int | None = None  # per client, in the queue of runs
    client_long: int | None = None  # per client, in each queue of long work
    client_rate: float | None = None  # a second, of one client; not for files of the page
    client_burst: int = 0  # requests that may come at once after a pause
    client_open: int = 0  # requests of one client at a time; an open page keeps one or two

    @property
    def body_bytes(self) -> int:
        """The largest request to an endpoint: the largest file as base64, and words beside it."""
        return self.upload_bytes * 4 // 3 + MB


LOCAL = Limits()
PUBLIC = replace(
    LOCAL,
    upload_bytes=20 * MB,
    values=20_000,
    bodies_bytes=200 * MB,
    set_items=500,
    set_tokens=50_000,
    table_bytes=8 * MB,
    packed_tables=False,
    saved_cells=1_000 * MB,
    built_weights=30 * MB,
    work_seconds=60.0,
    client_runs=32,
    client_long=4,
    client_rate=200.0,  # a class may come from one address
    client_burst=3_000,
    client_open=400,
)


def require_time(seconds: float, limits: Limits) -> None:
    """Refuse to go on after the deadline."""
    if limits.work_seconds is not None and seconds > limits.work_seconds:
        raise TooLong(
            f"This took over {limits.work_seconds:g} seconds, the limit for one job on this "
            "server; nothing was kept. Send less at a time, or run it on your own machine."
        )


def give_back() -> None:
    """Return what was freed to the system, where the C library is one that would not."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
