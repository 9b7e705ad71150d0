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
    """Every number by which a request is refused, or work is stopped; None = no such limit."""

    upload_bytes: int  # largest file
    values: int  # numbers, texts, lists and objects in the JSON of one request
    bodies_bytes: int | None  # total of all requests being read or answered
    header_seconds: float  # from the connection until a request's headers are complete
    body_seconds: float  # for its body, and a second more for each `body_rate` bytes that came
    body_rate: int  # bytes a second
    set_items: int | None  # texts or pictures of a set
    set_tokens: int | None  # tokens and patches of a set
    corpus_texts: int  # per corpus on the page; `set_tokens` applies too
    table_bytes: int  # per table of heads, opened or saved
    packed_tables: bool  # whether Parquet and npz are opened, which may unfold to any size
    saved_cells: int | None  # all maps of an opened saved run; each is recomputed
    built_weights: int  # untrained encoder built on the page
    work_seconds: float | None  # for a set, a training or the effects of all heads
    queue_places: int  # waiting in each queue; two classes of 30 may press Run at once
    client_runs: int | None  # per client, in the queue of runs
    client_long: int | None  # per client, in each queue of long work
    client_rate: float | None  # requests a second of one client, files of the page not counted
    client_burst: int  # requests that may come at once after a pause
    client_open: int  # requests of one client at a time; an open page keeps one or two

    @property
    def body_bytes(self) -> int:
        """The largest request to an endpoint: the largest file as base64, and words beside it."""
        return self.upload_bytes * 4 // 3 + MB


LOCAL = Limits(
    upload_bytes=200 * MB,
    values=1_000_000,
    bodies_bytes=None,
    header_seconds=10.0,
    body_seconds=20.0,
    body_rate=16_000,
    set_items=None,
    set_tokens=None,
    corpus_texts=2_000,
    table_bytes=200 * MB,
    packed_tables=True,
    saved_cells=None,
    built_weights=400 * MB,
    work_seconds=None,
    queue_places=64,
    client_runs=None,
    client_long=None,
    client_rate=None,
    client_burst=0,
    client_open=0,
)
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
