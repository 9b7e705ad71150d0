"""A page of another site that tries to use a server, and what of it reached that server's app."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.middleware import Middleware
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.ui.conftest import serving
from viz_encoder.ui.serve import ServerSettings, make_app

# All that a browser sends without asking the server first, and one request that it asks about.
ATTACK = """(async (site) => {
  const file = new FormData();
  file.append("files", new Blob([new Uint8Array(1 << 16)]), "x.bin");
  const none = { method: "POST", mode: "no-cors" };
  const loaded = (tag, more) => new Promise((done) => {
    const element = Object.assign(document.createElement(tag), more);
    element.onload = element.onerror = done;
    document.documentElement.append(element);
  });
  const posted = (path, enctype) => new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.name = path;
    const form = document.createElement("form");
    Object.assign(form, { action: site + path, method: "post", target: path, enctype });
    const input = document.createElement("input");
    Object.assign(input, { name: '{"a":"', value: '"}' });
    form.append(input);
    document.documentElement.append(frame, form);
    frame.onload = frame.onerror = done;
    form.submit();
  });
  const socket = new Promise((done) => {
    const opened = new WebSocket(site.replace("http", "ws") + "gradio_api/queue/join");
    opened.onclose = opened.onerror = done;
  });
  const asked = { method: "POST", headers: { "content-type": "application/json" } };
  const stream = new Promise((done) => {
    const opened = new EventSource(site + "gradio_api/heartbeat/abc");
    opened.onopen = opened.onerror = () => { opened.close(); done(); };
  });
  const all = Promise.allSettled([
    fetch(site + "gradio_api/upload", { ...none, body: file }),
    fetch(site + "viz/open/link", { ...none, body: '{"a": "a text"}' }),
    fetch(site + "viz/zoo", { mode: "no-cors" }),
    fetch(site + "config"),
    fetch(site + "gradio_api/call/models", { ...asked, body: '{"data": []}' }),
    loaded("img", { src: site + "viz/zoo/A1-multihead" }),
    loaded("script", { src: site + "viz/first" }),
    posted("viz/closed", "text/plain"),
    socket,
    stream,
  ]);
  await Promise.race([all, new Promise((done) => setTimeout(done, 20_000))]); // if they are taken
  navigator.sendBeacon(site + "viz/corpus/treebank", "x");
  const last = fetch(site + "viz/plotly.min.js", { mode: "no-cors" }); // comes after the beacon
  await Promise.race([last.catch(() => 0), new Promise((done) => setTimeout(done, 20_000))]);
})"""
SENT = {
    *("/gradio_api/upload", "/viz/open/link", "/viz/zoo", "/config", "/gradio_api/call/models"),
    *("/viz/zoo/A1-multihead", "/viz/first", "/viz/closed", "/viz/corpus/treebank"),
    *("/gradio_api/heartbeat/abc", "/gradio_api/queue/join", "/viz/plotly.min.js"),
}


@contextmanager
def watched_server() -> Iterator[tuple[str, list[str]]]:
    """A local server, and the paths of all requests that got past what guards it."""
    app, reached = make_app(ServerSettings(device="cpu")), list[str]()
    app.user_middleware.append(Middleware(_Seen, reached))  # the last is the innermost
    with serving(app) as site:
        yield site, reached


class _Seen:
    def __init__(self, app: ASGIApp, reached: list[str]) -> None:
        self._app, self._reached = app, reached

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            self._reached.append(scope["path"])
        await self._app(scope, receive, send)


@contextmanager
def other_site(link: str) -> Iterator[str]:
    """Another server on this machine, whose page has a link."""
    page = f'<!doctype html><link rel="icon" href="data:,"><a href="{link}">a link</a>'
    with serving(HTMLResponse(page)) as site:  # an answer is an app, too
        yield site


def uploads() -> set[Path]:
    """All files that lie in the folder of uploads."""
    return {path for path in Path(os.environ["GRADIO_TEMP_DIR"]).rglob("*") if path.is_file()}
