"""show: a run in a notebook's cell; live where a kernel and anywidget are there, else static."""

import importlib.util
import sys

from viz_encoder.arguments import Token, public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import VizEncoderError
from viz_encoder.export.cell import MAX_BYTES, Bytes, OneOrSeveral, draw_cell
from viz_encoder.trace import Trace
from viz_encoder.trace.notebook_cell import Cell, ShownOnce, jupyter
from viz_encoder.trace.same_model import require_made_by
from viz_encoder.ui.state.runner import require_showable

MISSING = (
    "A live view needs anywidget, which is not installed. Run: "
    "pip install 'viz-encoder[notebook]'. Without it, trace.show() gives a static one."
)


@public
def show(
    trace: Trace,
    *,
    layer: OneOrSeveral = None,
    head: OneOrSeveral = None,
    query: Token | None = None,
    words: bool = False,
    hide_special: bool = False,
    max_bytes: Bytes = MAX_BYTES,
    encoder: LoadedEncoder | None = None,
    live: bool | None = None,
) -> ShownOnce:
    """The view of a run, shown at once below the cell that runs in Jupyter; see `Trace.show`."""
    if encoder is not None:  # another model's shares would stand beside this run's maps
        require_made_by(encoder, trace)
    kept = {"words": words, "hide_special": hide_special}
    cell = draw_cell(trace, layer=layer, head=head, query=query, max_bytes=max_bytes, **kept)
    view: ShownOnce = _live_view(trace, cell, encoder, kept) if _is_live(trace, live) else cell
    if jupyter() is not None:
        view._ipython_display_()
    return view


def _is_live(trace: Trace, live: bool | None) -> bool:
    installed = importlib.util.find_spec("anywidget") is not None
    if live:
        require_showable(trace)
        if not installed:
            raise VizEncoderError(MISSING)
    if live is not None or not (installed and _in_notebook()):
        return bool(live)
    try:
        require_showable(trace)
    except VizEncoderError:  # the static cell shows it
        return False
    return True


def _in_notebook() -> bool:
    marimo = sys.modules.get("marimo")
    return jupyter() is not None or (marimo is not None and marimo.running_in_notebook())


def _live_view(
    trace: Trace, cell: Cell, encoder: LoadedEncoder | None, kept: dict[str, bool]
) -> ShownOnce:
    from viz_encoder.ui.notebook.live_view import LiveView  # it needs anywidget

    layer, head, query = cell.place
    key = int(trace.attention(layer, head, slice(query, query + 1))[0].argmax())
    place = {"layer": layer, "head": head, "query": query, "key": key}
    return LiveView(trace, cell, place, encoder, **kept)
