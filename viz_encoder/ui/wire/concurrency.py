"""Routes of work: in its turn, while somebody waits for it, or with its progress told."""

import asyncio
import contextlib
import inspect
import json
import math
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from viz_encoder.errors import VizEncoderError
from viz_encoder.ui.state.limits import LOCAL, Limits, require_time
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.clients import client_of
from viz_encoder.ui.wire.errors import NO_MEMORY

GIVEN_UP = 499  # nobody reads it
UNHELD = {"cache-control": "no-store", "x-accel-buffering": "no"}
Plain = dict[str, Any]  # for JSON
Given = dict[str, Any]
POLL_SECONDS = 0.02  # between two looks at whether it is still wanted
R = TypeVar("R")


class Places:
    """At most N jobs at a time, and N small ones; others wait without holding a thread.

    Clients take turns: however many pieces one of them sent, another's first is next. As a
    decorator it makes a route of plain work, and `lines` one of work that tells its progress.
    """

    def __init__(
        self, at_once: float, small: Callable[[Given], bool] = lambda given: False
    ) -> None:
        self._at_once, self._small = at_once, small  # by what it is given: it waits for no other
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Line, Line]]
        self._lines = WeakKeyDictionary()  # a server each: what waits belongs to one loop

    def __call__(self, work: Callable[..., Any]) -> Callable[..., Awaitable[Response]]:
        """A route that does this work in its turn; where it takes `tell`, while that is wanted."""
        tells = "tell" in inspect.signature(work).parameters

        async def route(request: Request, **given: Any) -> Response:
            line, done = self.line(given), partial(work, **given)
            await line.enter(client_of(request))
            try:
                if await request.is_disconnected():  # or another thing was chosen there meanwhile
                    return Response(status_code=GIVEN_UP)
                if tells:
                    return await _while_wanted(request, done)
                return answered(await run_in_threadpool(done))
            finally:
                line.leave()

        return _as_route(route, work)

    def lines(self, work: Callable[..., Plain]) -> Callable[..., Awaitable[Response]]:
        """A route of what this work finds, in lines of JSON; `tell` is told how much is done."""

        async def route(request: Request, **given: Any) -> Response:
            limits: Limits = request.app.state.runner.limits
            lines = json_lines(partial(work, **given), self, client_of(request), limits)
            return StreamingResponse(lines, media_type="application/x-ndjson", headers=UNHELD)

        return _as_route(route, work)

    def line(self, given: Given | None = None) -> "Line":
        """Where such work waits on the server that asks."""
        new = Line(self._at_once), Line(self._at_once)
        return self._lines.setdefault(asyncio.get_running_loop(), new)[self._small(given or {})]


def answered(found: Any) -> Response:
    """An answer as it is; numbers as bytes, anything else as JSON."""
    if isinstance(found, Response):
        return found
    return answers.array(found) if isinstance(found, np.ndarray) else answers.plain(found)


async def _while_wanted(request: Request, work: Callable[..., Any]) -> Response:
    """Its answer; it stops where it tells of its progress once the client has gone."""
    gone = threading.Event()

    def tell(share: float) -> None:
        if gone.is_set():
            raise Stopped

    def run() -> Response:
        try:
            return answered(work(tell=tell))
        except Stopped:
            return Response(status_code=GIVEN_UP)

    working = asyncio.ensure_future(run_in_threadpool(run))
    while not working.done():
        await asyncio.wait([working], timeout=POLL_SECONDS)
        if await request.is_disconnected():
            gone.set()
    return await working


def _as_route(route: Callable[..., R], work: Callable[..., Any]) -> Callable[..., R]:
    """Named as the work is, and taking what it takes; `work` is what a named endpoint calls."""
    own = inspect.signature(work).parameters.values()
    request = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
    taken = [*(each for each in own if each.name != "tell"), request]
    route.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(route, name, getattr(work, name))
    route.work = work  # type: ignore[attr-defined]
    return route


class Line:
    """Jobs that wait for a slot; used in one event loop only."""

    def __init__(self, free: float) -> None:
        self._free = free
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    async def enter(self, client: str) -> None:
        """Wait for a place; then it is taken until `leave`."""
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.insert(fair_turn([who for who, _ in self._waiting], client), (client, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._waiting = [each for each in self._waiting if each[1] is not turn]
            else:
                self.leave()  # had just been given a slot
            raise

    def leave(self) -> None:
        """Give a place to whoever is next."""
        while self._waiting:
            _, turn = self._waiting.pop(0)
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


def fair_turn(waiting: Sequence[str], client: str) -> int:
    """Position of a client's next job in the line: before any other client's second job."""
    own = sum(who == client for who in waiting)
    before: Counter[str] = Counter()
    for place, who in enumerate(waiting):
        if before[who] > own:
            return place
        before[who] += 1
    return len(waiting)


at_once = Places(math.inf)  # work of a moment waits for no other
PATIENCE = 5.0  # seconds without a share, after which a line tells that the work goes on
UNFORESEEN = "That could not be computed; the server's log says why. Try another input."
Work = Callable[..., Plain]  # it takes `tell`


class Stopped(Exception):
    """The client has closed the connection."""


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
        tell({"result": work(tell=progress)})
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
