"""A process of its own, from when it says that it is ready until the end of a with block."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

WAIT = 30  # seconds for its end


@contextmanager
def started(
    command: Sequence[str], ready: str, *, stream: str = "stdout", **given: Any
) -> Iterator[str]:
    """What it says up to the line that holds `ready`; the test fails with it if no line does."""
    pipes = {"stdout": subprocess.DEVNULL, stream: subprocess.PIPE} | given
    process = subprocess.Popen(command, text=True, **pipes)
    said = ""
    try:
        for line in getattr(process, stream):
            said += line
            if ready in line:
                break
        else:
            pytest.fail(said)
        yield said
    finally:
        process.terminate()
        process.communicate(timeout=WAIT)
