"""Cell: a document that displays in a frame, as a notebook cell's output."""

import html
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from viz_encoder.arguments import AnyPath
from viz_encoder.result import TableResult
from viz_encoder.whole_file import write_whole

# The frame has its own origin (sandbox), which isolates its script from the notebook's page. srcdoc
# needs no server and stays in the .ipynb; it works in Jupyter, VS Code, Colab and marimo. Where
# handlers may run, the frame reports its height and receives the surrounding text color, so that it
# can match a dark page; where they may not, it scrolls.
ONLOAD = (
    "const f=this,ink=()=>({ink:getComputedStyle(f.parentNode).color});"
    "if(!f.told){f.told=true;window.addEventListener('message',({source:s,data:d})=>{"
    "if(s&&s===f.contentWindow&&d&&d.height>0){"
    "f.style.height=Math.min(d.height,2400)+'px';s.postMessage(ink(),'*')}})}"
    "f.contentWindow.postMessage(ink(),'*')"
)
# GitHub takes out frames and styles, so it shows the picture; everything else hides it.
HIDDEN = "<style>iframe[data-viz-frame] + img[data-viz-picture]{display:none}</style>"
UNSHOWN = "An interactive attention map; trust this notebook, or run the cell, to see it."


def jupyter() -> Any:
    """The shell of the Jupyter kernel that this runs in; None elsewhere."""
    known = sys.modules.get("IPython")
    shell = None if known is None else known.get_ipython()
    return shell if hasattr(shell, "kernel") else None


@runtime_checkable
class RunView(Protocol):
    """What `Trace.show` returns; a static cell, which has no kernel to ask, has `save` alone."""

    layer: int
    head: Any  # a number, "mean", "max" or several
    query: Any  # a token's number or name
    key: Any
    measure: str

    @property
    def selection(self) -> TableResult:
        """What is selected, as a table of one row."""

    def observe(self, handler: Callable[[Any], Any], names: Any = ...) -> None:
        """Call the handler whenever one of these changes."""

    def save(self, path: AnyPath) -> int:
        """Write what is shown to a file of the kind that the name says."""


class ShownOnce:
    """What Jupyter shows as soon as it is made, in a loop too, and not again at its cell's end."""

    _shown_in = -1  # the count of the cell that showed it last

    def outputs(self) -> Iterator[dict[str, Any]]:
        """What is shown, one below the other, each by its media type."""
        raise NotImplementedError

    def _ipython_display_(self) -> None:
        if (shell := jupyter()) is None:
            print(repr(self))
        elif shell.execution_count != self._shown_in:
            object.__setattr__(self, "_shown_in", shell.execution_count)  # of a frozen one, too
            for output in self.outputs():
                shell.display_pub.publish(output)


@dataclass(frozen=True, eq=False, repr=False)
class Cell(ShownOnce):
    """Attention maps for a notebook cell, in one document that needs no network.

    document: the whole HTML document. height: initial frame height in pixels, until the document
    reports its own. place: the layer, head and query that it opens on. write: writes that map to a
    file of another kind than .html. still: the address of a picture of it, for where no frame is
    shown.
    """

    document: str
    title: str
    height: int
    place: tuple[int, int, int]
    write: Callable[[Path], int]
    still: str

    def __repr__(self) -> str:
        """One-line text, for where nothing can be drawn."""
        return f"<{self.title}, {self.nbytes / 1000:,.0f} kB; shown in a notebook, or .save(path)>"

    def outputs(self) -> Iterator[dict[str, Any]]:
        """The frame, and a line for where nothing can be drawn."""
        yield {"text/plain": repr(self), "text/html": self._frame}

    def _repr_html_(self) -> str:
        return self._frame

    @cached_property
    def _frame(self) -> str:
        return (
            f'{HIDDEN}<iframe data-viz-frame title="{html.escape(self.title)}" '
            f'sandbox="allow-scripts" '
            f'style="width:100%;height:{self.height}px;border:0" onload="{html.escape(ONLOAD)}" '
            f'srcdoc="{html.escape(self.document)}">{UNSHOWN}</iframe>'
            f'<img data-viz-picture alt="{html.escape(self.title)}" src="{self.still}">'
        )

    @property
    def nbytes(self) -> int:
        """Bytes it adds to a notebook."""
        return len(self._frame.encode("utf-8"))

    def save(self, path: str | Path) -> int:
        """Write the document to an .html for any browser, or the opened map to another file.

        Args:
            path: ends in .html; .png, .svg, .pdf (a picture of one map); .csv, .npz (its weights).

        Returns:
            The size of the file in bytes.

        Raises:
            SelectionError: another ending.
            TraceError: the file cannot be written, or what draws it is not installed.
        """
        if Path(path).suffix.lower() == ".html":
            return write_whole([self.document.encode("utf-8")], path)
        return self.write(Path(path))
