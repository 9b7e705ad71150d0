"""The `{code-cell}` directive: code that runs while the pages are built, and what it shows.

Cells run in this process, each page in names of its own: torch is imported once for all pages, and
nothing listens on a port. A fault in a cell stops the build.
"""

import os
import traceback
import warnings
from typing import Any, ClassVar

import plotly.graph_objects as go
import plotly.io
from cells import run_cell
from docutils.nodes import Element, Node, container, literal_block, raw
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

Scopes = dict[str, dict[str, Any]]
SCOPES: Scopes = {}


class CodeCell(SphinxDirective):
    """```{code-cell} python```: the code, then what it prints and the value of its last line."""

    has_content = True
    optional_arguments = 1
    # remove-cell: it runs, and is not shown.
    option_spec: ClassVar = {"tags": directives.unchanged}

    def run(self) -> list[Node]:
        """Run it, and give both.

        Raises:
            ExtensionError: the cell failed.
        """
        page = self.env.docname
        scope = SCOPES.setdefault(page, {"__name__": page})
        code = "\n".join(self.content)
        try:
            printed, value = run_cell(code, scope, f"{page}, line {self.lineno}")
        except Exception as fault:
            raise ExtensionError(f"A cell of {page} failed.\n{traceback.format_exc()}") from fault
        if "remove-cell" in self.options.get("tags", ""):
            return []
        shown = [_text(printed)] if printed else []
        shown += [] if value is None else [_shown(value)]
        return [literal_block(code, code, language="python"), *shown]


def _shown(value: Any) -> Element:
    """As a notebook shows it: a figure, its HTML, or its repr."""
    if isinstance(value, go.Figure):
        data = plotly.io.to_json(value).replace("<", "\\u003c")
        return _html("figure", f'<script type="application/json">{data}</script>')
    if hasattr(value, "_repr_html_"):
        return _html("shown", value._repr_html_())
    return _text(repr(value))


def _html(kind: str, text: str) -> Element:
    return raw("", f'<div class="cell-{kind}">{text}</div>', format="html")


def _text(text: str) -> Element:
    block = literal_block(text, text.rstrip(), language="none")
    return container("", block, classes=["cell-text"])


def _forget(app: Sphinx, env: Any, page: str) -> None:
    """A page that is read again begins without names."""
    SCOPES.pop(page, None)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect both; no cell may ask a network."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.filterwarnings("ignore", "The PyTorch API of nested tensors")  # torch's own
    app.add_directive("code-cell", CodeCell)
    app.connect("env-purge-doc", _forget)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
