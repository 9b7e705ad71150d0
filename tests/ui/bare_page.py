"""A page of nothing else, which gets its modules from their folder, without a server."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, Route

from viz_encoder.bundled import asset

ADDRESS = "http://page.localhost/"
EMPTY = "<!doctype html><body><main style='width: 400px'></main>"


@contextmanager
def bare_page(chromium: Browser) -> Iterator[Page]:
    """A page on which `import("/core/colors.js")` gives a module, to be drawn into its <main>."""
    folder = asset("web")

    def answer(route: Route) -> None:
        name = route.request.url.removeprefix(ADDRESS)
        if name and not (folder / name).is_file():
            route.abort()  # the import fails; without an answer it would wait for ever
        elif name:
            route.fulfill(path=folder / name, content_type="text/javascript")
        else:
            route.fulfill(body=EMPTY, content_type="text/html")

    page = chromium.new_page()
    page.route(f"{ADDRESS}**", answer)
    page.goto(ADDRESS)
    yield page
    page.close()
