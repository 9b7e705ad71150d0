"""A document that opens from a disk: a filled template, and a policy that blocks the network."""

import base64
import hashlib
import io
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from PIL import Image

from viz_encoder.bundled import asset
from viz_encoder.export.modules import join_modules
from viz_encoder.trace import Trace

WEB = asset("web")
# What a tab of the app needs in a document of its own.
OF_TABS = ("core/tokens.css", "core/theme.css", "core/core.css", "views/views.css")
INLINE = "style-src-attr 'unsafe-inline'"
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


def document(
    page: str,
    parts: Mapping[str, str],
    *rules: str,
    styles: Iterable[str] = (),
    instead: Mapping[str, str] | None = None,
) -> str:
    """A page of assets/web with its script, its style and what it shows, in one text.

    Its Content-Security-Policy blocks the network and allows only this script and this style.

    Args:
        page: such as "offline/document": its .js, .css and .html without an ending.
        parts: what the template has places for.
        rules: what else the policy allows.
        styles: files whose rules come before its own.
        instead: modules in whose place others stand.
    """
    script = _joined(page, tuple((instead or {}).items()))
    style = "".join(_asset(name) for name in (*styles, f"{page}.css"))
    allowed = f"default-src 'none'; script-src {digest(script)}", f"style-src {digest(style)}"
    policy = "; ".join([*allowed, *rules, "base-uri 'none'", "form-action 'none'"])
    every = {"policy": policy, "script": script, "style": style, "title": "Attention"}
    every |= {"language": "en", **parts}
    return PLACE.sub(lambda found: every[found[1]], AROUND % _asset(f"{page}.html"))


@cache
def _joined(page: str, instead: tuple[tuple[str, str], ...]) -> str:
    return join_modules(WEB / f"{page}.js", WEB, {WEB / old: WEB / new for old, new in instead})


def _asset(name: str) -> str:
    return (WEB / name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """CSP hash that allows exactly this script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}'"
