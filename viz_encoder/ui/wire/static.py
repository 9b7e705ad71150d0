"""The page's own files, under an address that changes with them, so that browsers may keep them."""

import hashlib
import re
from functools import cache
from typing import Any

from fastapi import FastAPI, Response
from fastapi.staticfiles import StaticFiles
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viz_encoder.bundled import asset
from viz_encoder.ui.wire.security_headers import allow_scripts_of

WEB = asset("web")
FOREVER = "public, max-age=31536000, immutable"


def add_static(app: FastAPI) -> None:
    """Serve assets/web, and nothing beside it; files of another version are not found."""
    app.mount(f"/viz/static/{version()}", _Immutable(directory=WEB), name="viz-static")


def address(path: str) -> str:
    """Where a file of assets/web is, from the page's own address on."""
    return f"viz/static/{version()}/{path}"


@cache
def version() -> str:
    """A digest of all files: after an upgrade, none of the old is taken for one of the new."""
    digest = hashlib.sha256()
    for path in sorted(path for path in WEB.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(WEB).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


class EarlyHead:
    """Has the page's head ask for scripts and styles at once, before Gradio builds the page.

    Gradio adds its own `head` and styles only when most of the page is there.
    """

    def __init__(
        self, app: ASGIApp, scripts: tuple[str, ...], styles: tuple[str, ...], folders: set[str]
    ) -> None:
        """Run these scripts, apply these styles, and load all modules of the folders."""
        needed = (
            path.relative_to(WEB).as_posix()
            for folder in sorted(folders)
            for path in sorted((WEB / folder).glob("*.js"))
        )
        self._app = app
        self._tags = "".join(
            (
                *(f'<link rel="stylesheet" href="{address(path)}">' for path in styles),
                *(f'<script type="module" src="{address(path)}"></script>' for path in scripts),
                *(f'<link rel="modulepreload" href="{address(path)}">' for path in needed),
            )
        ).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does; its page with one more part of the head."""
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "GET":
            return await self._app(scope, receive, send)
        begun: Message = {}
        parts: list[bytes] = []

        async def with_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                begun.update(message)
            elif message["type"] == "http.response.body":
                parts.append(message.get("body", b""))
                if not message.get("more_body"):
                    body = self._with_tags(b"".join(parts))
                    allow_scripts_of(body, scope)
                    MutableHeaders(raw=begun["headers"])["content-length"] = str(len(body))
                    await send(begun)
                    await send({"type": "http.response.body", "body": body})

        return await self._app(scope, receive, with_head)

    def _with_tags(self, page: bytes) -> bytes:
        """The theme's colors first, which the styles name; then ours."""
        found = re.search(rb'"theme_hash": ?"(\w+)"', page)
        theme = b'<link rel="stylesheet" href="theme.css?v=%s">' % found[1] if found else b""
        return page.replace(b"</head>", theme + self._tags + b"</head>", 1)


class _Immutable(StaticFiles):
    """Files that never change under their address."""

    def file_response(self, *given: Any, **named: Any) -> Response:
        """The file, to be kept for good."""
        answer = super().file_response(*given, **named)
        answer.headers["cache-control"] = FOREVER
        return answer
