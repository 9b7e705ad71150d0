"""Places: heavy work for pages, a few at a time, none for a page that asked for another thing."""

import asyncio
from collections.abc import Callable
from weakref import WeakKeyDictionary

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

GIVEN_UP = 499  # nobody reads it


class Places:
    """So many pieces of work at a time; the others wait without holding a thread."""

    def __init__(self, at_once: int) -> None:
        """None is taken yet."""
        self._at_once = at_once
        self._free: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]
        self._free = WeakKeyDictionary()  # a server each: a semaphore belongs to one loop

    async def answer(self, request: Request, work: Callable[[], Response]) -> Response:
        """The work's answer, unless its page has gone, or chosen another thing, while it waited."""
        loop = asyncio.get_running_loop()
        async with self._free.setdefault(loop, asyncio.Semaphore(self._at_once)):
            if await request.is_disconnected():
                return Response(status_code=GIVEN_UP)
            return await run_in_threadpool(work)
