"""A real marimo: a cell's live view and the cell that reads its selection know each other."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.started import started

APP = """
import marimo

app = marimo.App()


@app.cell
def _():
    import viz_encoder as vz

    trace = vz.capture(vz.load("grammar", device="cpu"), "the cats near the bird are small")
    view = trace.show(layer=3, head=0, query="are")
    view
    return (view,)
"""


@pytest.fixture
def marimo(tmp_path):
    """The address of a marimo that runs the app, and keeps what it writes in the test's folder."""
    (tmp_path / "app.py").write_text(APP)
    places = {name: str(tmp_path) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "run", "app.py", "--headless", "--no-token"]
    env = {**os.environ, **places, "PYTHONPATH": str(Path(__file__).parents[2])}
    given = {"cwd": tmp_path, "env": env, "stderr": subprocess.STDOUT}
    with started([*command, "--port", str(port)], str(port), **given):
        yield f"http://127.0.0.1:{port}"


def test_a_live_view_is_answered_by_its_kernel(marimo, chromium):
    page = chromium.new_page(viewport={"width": 1200, "height": 1100})
    page.goto(marimo)
    frame = page.frame_locator("iframe[title^='Attention of grammar']")
    frame.locator(".viz-map h3", has_text="(3.0)").wait_for(timeout=120_000)
    frame.get_by_role("button", name="Contribution").click()
    frame.locator(".viz-shares h3", has_text="brings").wait_for(timeout=60_000)
    page.close()
