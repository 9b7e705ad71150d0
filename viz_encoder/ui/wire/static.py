"""The page's own files, under an address that changes with them, so that browsers may keep them."""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import Headers, QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viz_encoder.bundled import asset
from viz_encoder.export import modules
from viz_encoder.ui.wire.bytes import Packed
from viz_encoder.ui.wire.security_headers import INLINE, inline_scripts

WEB = asset("web")
OFFLINE = "offline"  # for saved files, not requested by the page
FOREVER = "public, max-age=31536000, immutable"


def add_static(app: FastAPI) -> None:
    """Serve assets/web, and nothing beside it; files of another version are not found."""
    for folder in (path.name for path in WEB.iterdir() if path.is_dir() and path.name != OFFLINE):
        app.add_route(f"/{address(joined(folder))}", _joined_folder(folder))
    app.mount(f"/viz/static/{version()}", _Immutable(directory=WEB), name="viz-static")


def address(path: str) -> str:
    """URL of a file of assets/web, relative to the page."""
    return f"viz/static/{version()}/{path}"


@cache
def version() -> str:
    """A digest of all files: after an upgrade, none of the old is taken for one of the new.

    What joins them is counted in, for it makes the files that are sent.
    """
    digest = hashlib.sha256(Path(modules.__file__).read_bytes())
    files = (path for path in WEB.rglob("*") if path.is_file())
    for path in sorted((*files, *asset("lessons").glob("*.json"))):
        digest.update(f"{path.relative_to(WEB.parent).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def joined(folder: str) -> str:
    """The one file by which a browser gets all modules of a folder of assets/web."""
    return f"{folder}.js"


def _joined_folder(name: str) -> Callable[[Request], Response]:

    @cache
    def script() -> Packed:
        return Packed.of(modules.join_folder(WEB / name, WEB).encode())

    def answer(request: Request) -> Response:
        headers = {"cache-control": FOREVER, "content-type": "text/javascript; charset=utf-8"}
        return script().answer(request.headers.get("accept-encoding", ""), headers)

    return answer


class _Immutable(StaticFiles):
    """Files that never change under their address."""

    def file_response(self, *given: Any, **named: Any) -> Response:
        """The file, to be kept for good."""
        answer = super().file_response(*given, **named)
        answer.headers["cache-control"] = FOREVER
        return answer


NAMES_KEPT = 8  # by which the server is reached; a page takes half a megabyte
# Headers Gradio derives its own address from, which it writes into the page.
NAMING = ("host", "x-forwarded-host", "x-forwarded-proto", "x-gradio-server")
ALTERING = {"deep_link", "all_endpoints"}  # with these in the address, Gradio makes another page
LINKING = {"kind", "run", "model", "a", "b", "example", "learn"}  # with these, for another run
# Behind a notebook's proxy the server knows neither its name nor the path that stands before it.
ROOT = "<script>gradio_config.root = new URL('.', location).href.slice(0, -1);</script>"
# Gradio asks for this script at the root of the site, whatever path stands before the page.
RESIZER = re.compile(rb"`\$\{rootPath\}(/static/js/iframeResizer[^`]*)`,\s*origin\b")
FIRST_RUN = '<link rel="preload" as="fetch" crossorigin="anonymous" href="viz/first">'


@dataclass(frozen=True)
class _Page:
    status: int
    headers: dict[str, str]
    body: Packed
    scripts: list[str]  # digests of those that stand in it


class EarlyHead:
    """Gradio adds its own `head` and styles only when most of the page is there.

    The page is kept for each name of the server: it is the same for all its visitors, and Gradio
    takes 40 ms to write its half a megabyte.
    """

    def __init__(self, app: ASGIApp, folders: tuple[str, ...], styles: tuple[str, ...]) -> None:
        self._app = app
        sheets = (f'<link rel="stylesheet" href="{address(path)}">' for path in styles)
        scripts = (
            f'<script type="module" src="{address(joined(folder))}"></script>' for folder in folders
        )
        self._tags = "".join((ROOT, *sheets, *scripts))
        self._kept: OrderedDict[tuple[str, ...], _Page] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does; its page with one more part of the head."""
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "GET":
            return await self._app(scope, receive, send)
        headers, named = Headers(scope=scope), set(QueryParams(scope["query_string"]))
        first = "" if LINKING & named else FIRST_RUN
        parts = (first, scope["scheme"], scope.get("root_path", ""))
        reached = (*parts, *(headers.get(name, "") for name in NAMING))
        altered = not ALTERING.isdisjoint(named)
        page = None if altered else self._kept.get(reached)
        if page is None:
            page = await self._made(scope, receive, first)
            if page.status == HTTPStatus.OK and not altered:
                self._keep(reached, page)
        scope[INLINE] = page.scripts
        answer = page.body.answer(headers.get("accept-encoding", ""), page.headers, page.status)
        return await answer(scope, receive, send)

    def _keep(self, reached: tuple[str, ...], page: _Page) -> None:
        self._kept[reached] = page
        if len(self._kept) > NAMES_KEPT:
            self._kept.popitem(last=False)

    async def _made(self, scope: Scope, receive: Receive, first: str) -> _Page:
        begun: Message = {}
        parts: list[bytes] = []

        async def collect(message: Message) -> None:
            if message["type"] == "http.response.start":
                begun.update(message)
            else:
                parts.append(message.get("body", b""))

        await self._app(scope, receive, collect)
        plain = self._with_tags(b"".join(parts), first)
        headers = dict(Headers(raw=begun["headers"]))
        headers.pop("content-length", None)
        return _Page(begun["status"], headers, Packed.of(plain), inline_scripts(plain))

    def _with_tags(self, page: bytes, first: str) -> bytes:
        """The theme's colors first, which the styles name; then ours; and no address of a root."""
        found = re.search(rb'"theme_hash": ?"(\w+)"', page)
        theme = b'<link rel="stylesheet" href="theme.css?v=%s">' % found[1] if found else b""
        page = RESIZER.sub(rb"'.\1', document.baseURI", page)
        return page.replace(b"</head>", theme + (self._tags + first).encode() + b"</head>", 1)
