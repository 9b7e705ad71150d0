"""Data for the words or the image of an exported file: names, kinds and the image."""

import base64
import io
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
    content = base64.b64encode(file.getvalue()).decode("ascii")
    return f"data:image/{kind};base64,{content}"
