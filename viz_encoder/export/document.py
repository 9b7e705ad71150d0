"""A document that opens from a disk: a filled template, and a policy that blocks the network."""

import base64
import hashlib
import io
import re
from collections.abc import Iterable, Mapping
from typing import Any

from PIL import Image

from viz_encoder.trace import Trace

PICTURE_BYTES = 60_000
PICTURE_SIDE = 448  # pixels, of a picture that was too large


def strip_facts(trace: Trace) -> dict[str, Any]:
    """The tokens with what is known of each, and the picture that they are patches of."""
    return {
        "tokens": list(trace.tokens),
        "special": list(trace.sample.special),
        "segments": list(trace.sample.segments),
        "grid": _grid(trace),
        "picture": _picture(trace),
    }


def _grid(trace: Trace) -> dict[str, int] | None:
    grid = trace.grid
    return (
        None
        if grid is None
        else {"rows": grid.n_rows, "cols": grid.n_cols, "prefix": grid.n_prefix}
    )


def _picture(trace: Trace) -> str:
    """The picture as an address that holds it; smaller where it would take too many bytes."""
    if trace.sample.picture is None:
        return ""
    picture, file, kind = Image.fromarray(trace.sample.picture), io.BytesIO(), "png"
    picture.save(file, "PNG")
    if file.tell() > PICTURE_BYTES:
        file, kind = io.BytesIO(), "jpeg"
        picture.thumbnail((PICTURE_SIDE, PICTURE_SIDE))
        picture.save(file, "JPEG", quality=80)
    return f"data:image/{kind};base64,{as_text(file.getvalue())}"


def as_text(content: bytes) -> str:
    """Bytes as a document holds them: in base64."""
    return base64.b64encode(content).decode("ascii")


PLACE = re.compile(r"\{\{(\w+)\}\}")
AROUND = """<!doctype html>
<html lang="{{language}}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{policy}}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{title}}</title>
<style>{{style}}</style>
</head>
<body>
%s<script>{{script}}</script>
</body>
</html>
"""


def filled(
    body: str, script: str, style: str, rules: Iterable[str], parts: Mapping[str, str]
) -> str:
    """The body with its parts; its Content-Security-Policy allows this script and the rules."""
    allowed = [f"default-src 'none'; script-src {digest(script)}", *rules]
    policy = "; ".join([*allowed, "base-uri 'none'", "form-action 'none'"])
    every = {"policy": policy, "script": script, "style": style, "title": "Attention"}
    every |= {"language": "en", **parts}
    return PLACE.sub(lambda found: every[found[1]], AROUND % body)


def digest(text: str) -> str:
    """CSP hash that allows exactly this script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}'"
