"""Freed memory goes back to the system: glibc would keep it, and the server grow with every run."""

import ctypes
import sys
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """Return what was freed to the system, where the C library is one that would not."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    """glibc's malloc_trim; musl and other systems have none."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
