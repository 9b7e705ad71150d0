"""Places: heavy work for pages, a few at a time, none for a page that asked for another thing."""

import asyncio
from collections.abc import Callable

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

GIVEN_UP = 499  # nobody reads it


class Places:
    """So many pieces of work at a time; the others wait without holding a thread."""

    def __init__(self, at_once: int) -> None:
        """None is taken yet."""
        self._free = asyncio.Semaphore(at_once)

    async def answer(self, request: Request, work: Callable[[], Response]) -> Response:
        """The work's answer, unless its page has gone, or chosen another thing, while it waited."""
        async with self._free:
            if await request.is_disconnected():
                return Response(status_code=GIVEN_UP)
            return await run_in_threadpool(work)
