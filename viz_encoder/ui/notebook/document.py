"""The document of a live view: the Explore tab's own modules, which ask the kernel around them."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from viz_encoder.bundled import asset
from viz_encoder.export.document import digest, filled
from viz_encoder.export.modules import join_modules

WEB = asset("web")
HERE = WEB / "explore" / "notebook"
STYLES = (
    "core/tokens.css",
    "core/theme.css",
    "core/core.css",
    "views/views.css",
    "explore/tab.css",
    "explore/notebook/page.css",
)
INSTEAD = {
    WEB / "core" / "wire.js": HERE / "kernel.js",
    WEB / "explore" / "early_place.js": HERE / "left_out.js",
    WEB / "explore" / "any_view.js": HERE / "left_out.js",
}


def live_document(place: Mapping[str, Any]) -> str:
    """The whole document; it opens on this layer, head, query, key and measure."""
    told = json.dumps(place).replace("<", "\\u003c")
    style = _style()
    rules = (
        f"style-src-elem {digest(style)}",
        "style-src-attr 'unsafe-inline'",
        "img-src blob: data:",
    )
    template = (HERE / "page.html").read_text(encoding="utf-8")
    return filled(template, _script(), style, rules, {"place": told})


@cache
def _script() -> str:
    return join_modules(HERE / "page.js", WEB, INSTEAD)


def _style() -> str:
    return "".join((WEB / name).read_text(encoding="utf-8") for name in STYLES)
