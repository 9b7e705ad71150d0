"""Places: heavy work for pages, a few at a time, none for a page that asked for another thing."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from viz_encoder.ui.wire.clients import client_of

GIVEN_UP = 499  # nobody reads it


class Places:
    """At most N jobs at a time; others wait without holding a thread.

    Clients take turns: however many pieces one of them sent, another's first is next.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, Line]
        self._lines = WeakKeyDictionary()  # a server each: what waits belongs to one loop

    async def answer(self, request: Request, work: Callable[[], Response]) -> Response:
        """The work's answer, unless its page has gone, or chosen another thing, while it waited."""
        line = self.line()
        await line.enter(client_of(request))
        try:
            if await request.is_disconnected():
                return Response(status_code=GIVEN_UP)
            return await run_in_threadpool(work)
        finally:
            line.leave()

    def line(self) -> "Line":
        """The places of the server that asks."""
        return self._lines.setdefault(asyncio.get_running_loop(), Line(self._at_once))


class Line:
    """Jobs that wait for a slot; used in one event loop only."""

    def __init__(self, free: int) -> None:
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
