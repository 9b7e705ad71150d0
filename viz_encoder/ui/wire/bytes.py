"""Answers: numbers as raw bytes with their shape in a header, files, pictures, and short JSON."""

import io
import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import numpy as np
from fastapi import Response
from fastapi.responses import JSONResponse
from PIL import Image

PRIVATE = {"cache-control": "private, max-age=3600"}  # of a run, which never changes
FRESH = {"cache-control": "no-store"}
BYTES = "application/octet-stream"
TEXT = "text/csv; charset=utf-8"
MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "csv": TEXT,
    "py": "text/x-python; charset=utf-8",
    "npz": BYTES,
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


def download(content: bytes | Iterable[str], name: str) -> Response:
    """A file of that name, which no cache keeps; its ending says what it is."""
    if not isinstance(content, bytes):  # a broken character (lone surrogate) has no UTF-8
        content = "".join(content).encode("utf-8", "backslashreplace")
    headers = {
        **FRESH,
        "content-disposition": f'attachment; filename="{name}"',
        "x-content-type-options": "nosniff",
    }
    return Response(content, media_type=MEDIA_TYPES[name.rpartition(".")[2]], headers=headers)


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


def finite(values: Any) -> Any:
    """Numbers for JSON, which has no NaN and no infinity: null in their place."""
    array = np.asarray(values)
    numbers = array.astype(object)
    numbers[~np.isfinite(array)] = None
    return numbers.tolist()
