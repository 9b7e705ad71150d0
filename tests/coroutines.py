"""Coroutines of a test, where the browser's driver may have the event loop of the thread."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def run_apart(work: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns, or the exception it raises."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
