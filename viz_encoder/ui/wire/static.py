"""The page's own files, under an address that changes with them, so that browsers may keep them."""

import gzip
import hashlib
from collections.abc import Callable
from functools import cache
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.staticfiles import StaticFiles

from viz_encoder.bundled import asset
from viz_encoder.export.modules import join_folder

WEB = asset("web")
OFFLINE = "offline"  # of files that are saved, which no page asks for
FOREVER = "public, max-age=31536000, immutable"


def add_static(app: FastAPI) -> None:
    """Serve assets/web, and nothing beside it; files of another version are not found."""
    for folder in (path.name for path in WEB.iterdir() if path.is_dir() and path.name != OFFLINE):
        app.add_route(f"/{address(joined(folder))}", _joined_folder(folder))
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


def joined(folder: str) -> str:
    """The one file by which a browser gets all modules of a folder of assets/web."""
    return f"{folder}.js"


def _joined_folder(name: str) -> Callable[[Request], Response]:
    """Answers with the folder's modules, which are joined once."""

    @cache
    def content() -> tuple[bytes, bytes]:
        plain = join_folder(WEB / name, WEB).encode()
        return plain, gzip.compress(plain, mtime=0)

    def answer(request: Request) -> Response:
        packs = "gzip" in request.headers.get("accept-encoding", "")
        headers = {"cache-control": FOREVER, "vary": "accept-encoding"}
        headers |= {"content-encoding": "gzip"} if packs else {}
        return Response(content()[packs], media_type="text/javascript", headers=headers)

    return answer


class _Immutable(StaticFiles):
    """Files that never change under their address."""

    def file_response(self, *given: Any, **named: Any) -> Response:
        """The file, to be kept for good."""
        answer = super().file_response(*given, **named)
        answer.headers["cache-control"] = FOREVER
        return answer
