"""Servers in processes of their own, started as their users start them: our command, and Gradio's own launch."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from viz_encoder.trace import Trace

OURS = ("viz_encoder", "serve")
GRADIO = ("benchmarks.gradio_page",)
LONGEST = 120.0  # seconds until the first answer


@contextmanager
def started(command: tuple[str, ...], trace: Trace | None = None) -> Iterator[str]:
    """The address of `python -m command`, on a saved run where one is given, once it answers."""
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "run.safetensors"
        if trace is not None:
            trace.save(saved)
        named = () if trace is None else (str(saved),)
        port = _free_port()
        address = f"http://127.0.0.1:{port}/"
        server = subprocess.Popen(
            [sys.executable, "-m", *command, *named, "--port", str(port)],
            stdout=subprocess.DEVNULL,
            env={**os.environ, "GRADIO_ANALYTICS_ENABLED": "False", "OMP_NUM_THREADS": "1"},
        )
        try:
            _wait_for(address, server)
            yield address
        finally:
            server.terminate()
            server.wait(timeout=20)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def _wait_for(address: str, server: subprocess.Popen) -> None:
    end = time.monotonic() + LONGEST
    while time.monotonic() < end and server.poll() is None:
        with suppress(httpx.TransportError):
            httpx.get(address, timeout=LONGEST).raise_for_status()
            return
        time.sleep(0.1)
    raise RuntimeError(f"{address} did not answer; its server ended with {server.poll()}.")
