"""The runs that are measured, bertviz on the same maps, and how a click or a frame is timed."""

import random
from pathlib import Path

from playwright.sync_api import Page, Route

import viz_encoder as vz
from benchmarks.models import MINILM, inputs, ours
from viz_encoder.trace import Trace

FRAMES = 120
SCRIPTS = {"d3": "d3.min.js", "jquery": "jquery.min.js", "require": "require.js"}
PRESS = 80  # milliseconds a person holds the button down
REST = 120  # and rests on a head before that
# Counts from the click event, which a script sends or the mouse's release, to the end of the frame that
# paints: a task that is posted in its animation frame runs once it is drawn.
CLICK = """async ([button, painted, scripted]) => {
  const [, selector, text] = painted.match(/^(text=)?(.*)$/).map((part) => part ?? "");
  const there = () => painted.startsWith("text=")
    ? [...document.querySelectorAll(".gtitle")].some((node) => node.textContent === text)
    : document.querySelector(painted) !== null;
  const node = document.querySelector(button);
  const clicked = new Promise((done) => node.addEventListener("click", () => done(performance.now()), { capture: true, once: true }));
  window.taken = clicked.then(async (start) => {
    while (!there()) await new Promise(requestAnimationFrame);
    const { port1, port2 } = new MessageChannel();
    await new Promise((done) => {
      port1.onmessage = done;
      port2.postMessage(0);
    });
    return performance.now() - start;
  });
  if (scripted) node.click();
}"""
# One hover event before each frame; the time between frames is what a person sees.
HOVER = """async ([which, frames]) => {
  const taken = [];
  const tab = window.vizTab;
  const send = (node, type, x, y) => node.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, bubbles: true, pointerId: 1 }));
  const tokens = document.querySelectorAll("#left > g:last-child > g");
  const point = {
    map: (at) => send(tab.map.canvas, "pointermove", ...tab.map.box(at % 500, (at * 7) % 500)),
    lines: (at) => send(tab.lines.canvas, "pointermove", ...tab.lines.box("query", at % 30)),
    bertviz: (at) => tokens[at % 30].dispatchEvent(new MouseEvent("mouseover", { bubbles: true })),
  }[which];
  document.querySelector(which === "bertviz" ? "svg" : `.viz-${which} canvas`).scrollIntoView();
  let last = await new Promise(requestAnimationFrame);
  for (let at = 0; at < frames; at++) {
    point(at);
    const now = await new Promise(requestAnimationFrame);
    taken.push(now - last);
    last = now;
  }
  return taken.slice(5);
}"""


def run_of(n_tokens: int) -> Trace:
    """A captured run of a MiniLM shape, random weights and ids."""
    return vz.capture(ours(MINILM, n_tokens), inputs(n_tokens))[0]


def click_to_paint(
    page: Page, names: tuple[str, str], layer: int, head: int, *, mouse: bool = False
) -> float:
    """Milliseconds from a click on a head, by a script or the mouse, to the end of its map's frame."""
    button, painted = (name.format(layer, head) for name in names)
    if mouse:
        page.mouse.move(1, 1)
        page.hover(button)
        page.wait_for_timeout(REST + random.uniform(0, 1000 / 60))  # at any time of a frame
    page.evaluate(CLICK, [button, painted, not mouse])
    if mouse:
        page.click(button, delay=PRESS)
    return page.evaluate("window.taken")


def frames(page: Page, which: str) -> list[float]:
    """Milliseconds of each frame while the pointer hovers over one thing after another."""
    return page.evaluate(HOVER, [which, FRAMES])


def bertviz_page(page: Page, trace: Trace, cdn: Path | None) -> bool:
    """Open bertviz's head view of one layer; False where bertviz is not installed."""
    try:
        from bertviz import head_view
    except ImportError:
        return False
    attention = [trace.attention(0)[None]]
    tokens = [f"t{at}" for at in range(trace.n_tokens)]
    view = head_view(attention, tokens, html_action="return").data
    if cdn:
        page.route("**/ajax/libs/**", lambda route: _from_disk(route, cdn))
    page.set_content(f"<html><body>{view}</body></html>", timeout=300_000)
    page.wait_for_selector("#attention line", state="attached", timeout=300_000)
    page.wait_for_timeout(3000)
    return True


def _from_disk(route: Route, folder: Path) -> None:
    name = next(file for key, file in SCRIPTS.items() if f"/{key}" in route.request.url)
    route.fulfill(path=folder / name, content_type="text/javascript")
