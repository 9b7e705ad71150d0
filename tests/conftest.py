"""What all tests share."""

import functools
import gc
import inspect
import os
import shutil
import ssl
from collections.abc import Iterator

import httpx
import pytest
import torch
from hypothesis import settings
from playwright.sync_api import Browser, Playwright, sync_playwright

import tests.shape_checks  # before the package  # noqa: F401
import viz_encoder as vz

# A browser that asks for nothing on the network but the page under test.
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    "--process-per-site",
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    # A page lives for seconds: optimizing its code takes longer than the code then saves.
    "--js-flags=--no-opt --no-maglev",
]

# A test that asks for one of these fixtures has that mark.
MARKS = {
    "browser": {"chromium", "firefox"},
    "outside": {"firefox", "lab", "marimo", "cluster", "screen"},
}

# The shell is Chromium without windows: a page opens there in two thirds of the time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

settings.register_profile("no clock", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("no clock")

# httpx, and Gradio's client by it, reads all certificates anew at every request: 26 ms each time.
ssl.create_default_context = functools.cache(ssl.create_default_context)

# A request may take as long as one that names its own time; httpx gives up after 5 s.
inspect.signature(httpx.request).parameters["timeout"].default.read = 60


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is imported and collected stays: the garbage collector need not look through it.

    They are a million objects, which it would go through again and again, here and in the tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """One process more than cores: a test of a page waits for its browser a third of its time."""
    return min(8, 1 + (os.cpu_count() or 1))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what drives another program, by the fixture that starts it."""
    for mark, programs in MARKS.items():
        if not programs.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(mark)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that drive a browser come first: they take the longest, and short ones fill the end."""
    long = {item.path for item in items if item.get_closest_marker("browser")}
    items.sort(key=lambda item: item.path not in long)


@pytest.fixture(scope="session")
def minilm():
    """The built-in text model, on the CPU."""
    return vz.load("all-MiniLM-L6-v2", device="cpu")


@pytest.fixture(scope="session")
def grammar():
    """The built-in model of a little language, on the CPU."""
    return vz.load("grammar", device="cpu")


@pytest.fixture(scope="session")
def scene():
    """The built-in model of pictures, on the CPU."""
    return vz.load("scene", device="cpu")


@pytest.fixture
def rng():
    """A seeded source of random numbers."""
    return torch.Generator().manual_seed(0)


def chromium_path() -> str | None:
    """The system's own Chromium; None where Playwright's is taken."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """What drives browsers; a process can start it once."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    """A headless Chromium, the system's own where there is one."""
    browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
    yield browser
    browser.close()
