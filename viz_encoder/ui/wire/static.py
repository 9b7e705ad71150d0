"""The page's own files, under an address that changes with them, so that browsers may keep them."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.staticfiles import StaticFiles

from viz_encoder.bundled import asset
from viz_encoder.export import modules
from viz_encoder.ui.wire.bytes import Packed

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
    for path in sorted(path for path in WEB.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(WEB).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def joined(folder: str) -> str:
    """The one file by which a browser gets all modules of a folder of assets/web."""
    return f"{folder}.js"


def _joined_folder(name: str) -> Callable[[Request], Response]:
    """Answers with the folder's modules, which are joined once."""

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
