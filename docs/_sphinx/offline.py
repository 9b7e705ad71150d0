"""Pages that open from disk: Plotly's library beside them, and nothing fetched from elsewhere."""

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

# What a browser fetches by itself; a link that a person clicks may lead anywhere.
ELSEWHERE = r"[\"']?((?:https?:)?//[^\"'>) ]+)"
FETCHED = (
    re.compile(rf"<(?:script|img|iframe|source|video)\b[^>]*?\ssrc={ELSEWHERE}"),
    re.compile(rf"<link\b(?![^>]*rel=[\"']?(?:canonical|author))[^>]*?\shref={ELSEWHERE}"),
    re.compile(rf"(?:@import\s+|url\(){ELSEWHERE}"),
)


def setup(app: Sphinx) -> dict[str, bool]:
    """Do both once the pages are written."""
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _finish(app: Sphinx, fault: Exception | None) -> None:
    if fault is not None or app.builder.format != "html":
        return
    plotly = find_spec("plotly")
    assert plotly is not None and plotly.origin is not None
    library = Path(plotly.origin).parent / "package_data" / "plotly.min.js"
    shutil.copy(library, Path(app.outdir, "_static"))
    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix in (".html", ".css"):
            _require_offline(path)


def _require_offline(path: Path) -> None:
    """Nothing, if the page fetches from its own folder only.

    Raises:
        ExtensionError: it would ask a network.
    """
    text = path.read_text(encoding="utf-8")
    for pattern in FETCHED:
        if found := pattern.search(text):
            raise ExtensionError(
                f"{path.name} fetches {found[1]}; these pages open without a network."
            )
