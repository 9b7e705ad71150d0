"""Answers: numbers as raw bytes with their shape in a header, files, pictures, and short JSON."""

import gzip
import io
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import IO, Any
from urllib.parse import quote

import numpy as np
from fastapi import Response
from fastapi.responses import JSONResponse, StreamingResponse
from PIL import Image

from viz_encoder.errors import SelectionError
from viz_encoder.result import finite as finite

PRIVATE = {"cache-control": "private, max-age=3600"}  # a run never changes
FRESH = {"cache-control": "no-store"}
BYTES = "application/octet-stream"
TEXT = "text/csv; charset=utf-8"
PIECE = 2**18  # bytes of a file that are sent at a time
MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "csv": TEXT,
    "json": "application/json",
    "py": "text/x-python; charset=utf-8",
    "npz": BYTES,
    "zip": "application/zip",
    "arrow": BYTES,
    "parquet": BYTES,
    "safetensors": BYTES,
}


def array(values: np.ndarray, more: Any = (), *, about: Any = None, **headers: str) -> Response:
    """Numbers as float32 with their shape in x-shape; `more` numbers follow them.

    What else is known of them stands in x-about as JSON, or in a header of its own.
    """
    named = {f"x-{name}": value for name, value in headers.items()}
    told = {} if about is None else {"x-about": quote(json.dumps(about))}
    shape = {"x-shape": ",".join(map(str, values.shape))}
    content = b"".join(np.ascontiguousarray(part, dtype="<f4").tobytes() for part in (values, more))
    return Response(content, media_type=BYTES, headers={**PRIVATE, **shape, **named, **told})


@dataclass(frozen=True)
class Packed:
    """A text that many ask for, compressed once for those who can unpack it."""

    plain: bytes
    zipped: bytes

    @classmethod
    def of(cls, plain: bytes) -> "Packed":
        """Both forms of a text."""
        return cls(plain, gzip.compress(plain, mtime=0))

    def answer(self, accepted: str, headers: Mapping[str, str], status: int = 200) -> Response:
        """The form that a client accepts, by its Accept-Encoding."""
        told = {**headers, "vary": "accept-encoding"}
        if "gzip" not in accepted:
            return Response(self.plain, status, told)
        return Response(self.zipped, status, {**told, "content-encoding": "gzip"})


def require_kind(kind: str, kinds: Iterable[str]) -> None:
    """Refuse a kind of file that there is not."""
    if kind not in kinds:
        raise SelectionError(f"There is no download {kind[:20]!r}; choose {', '.join(kinds)}.")


def download(content: bytes | Iterable[str], name: str) -> Response:
    """A file of that name, which no cache keeps; its ending says what it is.

    It waits on disk until its client has read it: slow clients of large files hold no memory.
    """
    file = tempfile.TemporaryFile()  # noqa: SIM115  (closed once it is sent)
    for part in [content] if isinstance(content, bytes) else content:
        # A broken character (lone surrogate) has no UTF-8.
        file.write(part if isinstance(part, bytes) else part.encode("utf-8", "backslashreplace"))
    headers = {
        **FRESH,
        "content-disposition": f'attachment; filename="{name}"',
        "content-length": str(file.tell()),
    }
    kind = MEDIA_TYPES[name.rpartition(".")[2]]
    return StreamingResponse(_read(file), media_type=kind, headers=headers)


def _read(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        yield from iter(partial(file.read, PIECE), b"")


def png(pixels: np.ndarray | None) -> bytes:
    """Pixels as a PNG file; nothing where there are none."""
    if pixels is None:
        return b""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def picture(content: bytes) -> Response:
    """A PNG file of a run."""
    return Response(content, media_type="image/png", headers=PRIVATE)


def plain(content: Any, headers: dict[str, str] = PRIVATE) -> JSONResponse:
    """A short result as JSON."""
    return JSONResponse(content, headers=headers)


def plain_name(text: str) -> str:
    """The text as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)[:60] or "run"
