"""Picture: a Plotly figure as .png, .svg or .pdf, drawn by kaleido in a browser of its own."""

import importlib.util
from typing import Any

from viz_encoder.errors import TraceError


def picture(figure: Any, kind: str, *, width: int, height: int) -> bytes:
    """The content of a .png, .svg or .pdf file.

    Raises:
        TraceError: kaleido is missing, or could not draw it.
    """
    if importlib.util.find_spec("kaleido") is None:
        raise TraceError(
            f"{kind} files are drawn by kaleido, which is not installed. Run: pip install kaleido "
            "(it needs Chrome), or choose .html, .csv or .npz."
        )
    # A page has room above and a ground of its own; a file has neither.
    figure.update_layout(
        margin_t=170, margin_l=120, title_y=0.98, title_yanchor="top", paper_bgcolor="white"
    )
    try:
        content: bytes = figure.to_image(format=kind[1:], width=width, height=height)
    except Exception as fault:  # kaleido's own, Chrome's and Plotly's
        raise TraceError(f"kaleido could not draw {kind}: {str(fault)[:300]}") from fault
    return content
