"""Cell: a document that displays in a frame, as a notebook cell's output."""

import html
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

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
UNSHOWN = "An interactive attention map; trust this notebook, or run the cell, to see it."


@dataclass(frozen=True, eq=False, repr=False)
class Cell:
    """Attention maps for a notebook cell; displayed as a cell's last expression, without a network.

    document: the whole HTML document. height: initial frame height in pixels, until the document
    reports its own.
    """

    document: str
    title: str
    height: int

    def __repr__(self) -> str:
        """One-line text, for where nothing can be drawn."""
        return f"<{self.title}, {self.nbytes / 1000:,.0f} kB; shown in a notebook, or .save(path)>"

    def _repr_html_(self) -> str:
        return self._frame

    @cached_property
    def _frame(self) -> str:
        return (
            f'<iframe title="{html.escape(self.title)}" sandbox="allow-scripts" '
            f'style="width:100%;height:{self.height}px;border:0" onload="{html.escape(ONLOAD)}" '
            f'srcdoc="{html.escape(self.document)}">{UNSHOWN}</iframe>'
        )

    @property
    def nbytes(self) -> int:
        """Bytes it adds to a notebook."""
        return len(self._frame.encode("utf-8"))

    def save(self, path: str | Path) -> int:
        """Write the document to a file for any browser; return its size in bytes.

        Raises:
            TraceError: the file cannot be written.
        """
        return write_whole([self.document.encode("utf-8")], path)
