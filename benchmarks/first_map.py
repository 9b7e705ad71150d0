"""How long a visitor waits for the first exact map, beside an empty Gradio page, in turn."""

import gradio as gr
from fastapi import FastAPI
from playwright.sync_api import Browser

from tests.ui.conftest import serving
from viz_encoder.ui.serve import Settings, make_app

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


def first_maps(browser: Browser, rounds: int = ROUNDS) -> tuple[list[float], list[float]]:
    """Milliseconds to an empty Gradio page and to our first map, each in a profile without cache."""
    empty, ours = [], []
    with serving(_empty_app()) as nothing, serving(make_app(Settings(port=0))) as page:
        for _ in range(rounds + 1):
            empty.append(_opened(browser, nothing, EMPTY))
            ours.append(_opened(browser, page, FIRST_MAP))
    return empty[1:], ours[1:]  # the first visit loads the model


def _opened(browser: Browser, address: str, selector: str) -> float:
    with browser.new_context(viewport={"width": 1440, "height": 1000}) as context:
        page = context.new_page()
        page.add_init_script(THERE.replace("SELECTOR", selector))
        page.goto(address)
        taken: float = page.evaluate("window.there")
    return taken


def _empty_app() -> FastAPI:
    with gr.Blocks(analytics_enabled=False) as page:
        gr.HTML('<p id="nothing">Nothing.</p>')
    return gr.mount_gradio_app(FastAPI(), page, path="/", ssr_mode=False)
