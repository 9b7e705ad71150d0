"""Runs to export: a text, a picture, a padded one, and one of hostile tokens."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import cache

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

import viz_encoder as vz
from tests.export.runs import HOSTILE
from viz_encoder.bundled import asset


@pytest.fixture(scope="session")
def trace(minilm):
    """Fourteen tokens, six layers of twelve heads."""
    return vz.capture(minilm, "The bank approved the loan, because it trusted the old man")


@pytest.fixture(scope="session")
def padded(minilm):
    """Two padding tokens, which no query may look at."""
    return vz.capture(minilm, ["A short text", "A text that is longer"])[0]


@pytest.fixture(scope="session")
def picture():
    """A picture's run."""
    return vz.capture(vz.load("scene", device="cpu"), asset("examples/digit.png"))


@pytest.fixture(scope="session")
def hostile(minilm):
    """Tokens that would be markup, formulas or placeholders, if anything took them for it."""
    found = vz.capture(minilm, "one two three four five six seven eight nine ten")
    return replace(found, sample=replace(found.sample, tokens=HOSTILE))


@pytest.fixture(scope="session")
def browser(chromium):
    """The Chromium that all tests share."""
    return chromium


@pytest.fixture(scope="module")
def offline(browser: Browser) -> Iterator[Callable[[str, int], BrowserContext]]:
    """The profile without a network of a color scheme and a width; one for the tests of a file."""
    with ExitStack() as stack:

        @cache
        def profile(scheme: str, width: int) -> BrowserContext:
            context = stack.enter_context(
                browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 1000})
            )
            context.set_offline(True)
            context.new_page().goto("file:///")  # keeps the process, in which scripts are compiled
            return context

        yield profile


@pytest.fixture
def from_disk(offline: Callable[[str, int], BrowserContext]) -> Iterator[Callable[..., Page]]:
    """Opens a file in a browser that has no network; any fault fails the test."""
    faults, pages = [], []

    def open_page(file, link="", scheme="light", width=1300, refused="(no fault)", before=""):
        page, own = offline(scheme, width).new_page(), file.as_uri()
        pages.append(page)
        page.on("console", lambda m: None if refused in m.text else faults.append(m.text))
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.on("request", lambda r: r.url.partition("?")[0] == own or faults.append(r.url))
        if before:
            page.add_init_script(before)
        page.goto(own + link)
        page.wait_for_selector("body[data-painted]", timeout=30_000)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert faults == []
