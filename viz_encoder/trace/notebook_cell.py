"""Cell: a document that draws itself in a frame, as the output of a notebook's cell."""

import html
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from viz_encoder.whole_file import write_whole

# A notebook's own page must not meet the script, nor the script the page: the frame has an origin
# of its own (sandbox). srcdoc needs no server and stays in the .ipynb; Jupyter, VS Code, Colab and
# marimo all show it. Where handlers may run, the frame tells its height and is told the color of
# the text around it, by which it knows a dark page; where they may not, it scrolls.
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
    """Attention maps for a notebook cell; the last line of a cell shows it, without any network.

    document: the whole HTML document. height: pixels of its frame, until it says its own.
    """

    document: str
    title: str
    height: int

    def __repr__(self) -> str:
        """One line, where nothing can be drawn."""
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
        """Bytes that it adds to a notebook."""
        return len(self._frame.encode("utf-8"))

    def save(self, path: str | Path) -> int:
        """Write the document to a file that any browser opens; gives its size in bytes.

        Raises:
            TraceError: the file cannot be written.
        """
        return write_whole([self.document.encode("utf-8")], path)
