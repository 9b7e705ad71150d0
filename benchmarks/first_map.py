"""How long a visitor waits for the first exact map, beside an empty Gradio page, in turn."""

from playwright.sync_api import Browser

from benchmarks.started import GRADIO, OURS, started

ROUNDS = 7
EMPTY = "#nothing"
FIRST_MAP = ".viz-map[data-painted]"
# The frame after the first in which the selector finds something, in milliseconds from navigation.
THERE = """
window.there = new Promise((done) => {
  const look = () => document.querySelector("SELECTOR")
    ? requestAnimationFrame(() => done(performance.now())) : requestAnimationFrame(look);
  look();
});
"""


def first_maps(
    browser: Browser, rounds: int = ROUNDS, delay: int = 0
) -> tuple[list[float], list[float]]:
    """Milliseconds to an empty Gradio page and to our first map, each in a profile without cache.

    The browser holds each request up by `delay` milliseconds, as a line to a distant server does.
    """
    empty, ours = [], []
    with started(GRADIO) as nothing, started(OURS) as page:
        for _ in range(rounds + 1):
            empty.append(_opened(browser, nothing, EMPTY, delay))
            ours.append(_opened(browser, page, FIRST_MAP, delay))
    return empty[1:], ours[1:]  # the first visit loads the model


def _opened(browser: Browser, address: str, selector: str, delay: int) -> float:
    with browser.new_context(viewport={"width": 1440, "height": 1000}) as context:
        page = context.new_page()
        if delay:
            throttle = {"offline": False, "latency": delay, "downloadThroughput": -1}
            tools = context.new_cdp_session(page)
            tools.send("Network.enable")
            tools.send("Network.emulateNetworkConditions", {**throttle, "uploadThroughput": -1})
        page.add_init_script(THERE.replace("SELECTOR", selector))
        page.goto(address)
        taken: float = page.evaluate("window.there")
    return taken
