"""A bare host of a live view: a page with a widget's model, whose messages go to the view."""

import base64
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from playwright.sync_api import Browser, Page

from viz_encoder.bundled import asset

HOST = """async ([state, code]) => {
  const heard = {};
  const tell = (event, ...given) => { for (const each of heard[event] ?? []) each(...given); };
  window.model = {
    sent: [],
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; tell(`change:${name}`); },
    saved: {},
    async save_changes() {
      const now = { ...state };
      await chosen(now);
      model.saved = now;
    },
    on: (event, each) => (heard[event] ??= []).push(each),
    off: (event, each) => { heard[event] = heard[event].filter((one) => one !== each); },
    async send(content) {
      model.sent.push(content.path);
      for (const [said, text] of await kernel(content)) {
        const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
        tell("msg:custom", said, [new DataView(bytes.buffer)]);
      }
    },
  };
  const { default: widget } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  widget.render({ model, el: document.getElementById("cell") });
}"""
ALONE = ThreadPoolExecutor(1)  # a kernel's thread: in that of the tests Playwright's loop runs
SHARED = ("layer", "head", "query", "key", "measure")


def ask(view, content: dict) -> None:
    """Give the view a message from its cell, and wait until it is answered."""
    ALONE.submit(view._heard, view, content, []).result()


@contextmanager
def hosted(chromium: Browser, view, *, ink: str = "#111") -> Iterator[Page]:
    """The page of a view; `model.sent` there is what was asked, `model.saved` what Python knows."""
    sent, faults = [], []

    def send(content, buffers):
        sent.append([content, base64.b64encode(buffers[0]).decode()])

    def kernel(content):
        sent.clear()
        ask(view, content)
        return list(sent)

    def chosen(state):
        view.set_state({name: state[name] for name in (*SHARED, "_run")})

    view.send = send
    context = chromium.new_context(viewport={"width": 1000, "height": 1200}, offline=True)
    page = context.new_page()
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.expose_function("kernel", kernel)
    page.expose_function("chosen", chosen)
    ground = "white" if ink == "#111" else "#111"
    page.set_content(f"<body style='color:{ink};background:{ground}'><div id=cell></div>")
    state = {name: each for name, each in view.get_state().items() if isinstance(each, str | int)}
    code = asset("web/explore/notebook/widget.js").read_text(encoding="utf-8")
    page.evaluate(HOST, [state, code])
    yield page
    context.close()
    assert faults == [], faults


def choose(page: Page, view, **place) -> None:
    """Set traits in Python, and tell the page as a widget's manager does."""
    for name, value in place.items():
        setattr(view, name, value)
        state = view.get_state(name)[name]
        page.evaluate("([name, value]) => model.set(name, value)", [name, state])
