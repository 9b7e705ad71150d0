"""What may be measured of a run's hidden states, by the names that the page and clients use."""

from collections.abc import Callable
from reprlib import repr as shown  # cut short: a client may send anything, of any length
from typing import Any

import numpy as np

from viz_encoder.analyses.logit_lens import logit_lens
from viz_encoder.analyses.nearest_tokens import nearest_tokens
from viz_encoder.analyses.projection import CENTERS, projection
from viz_encoder.analyses.residual_change import hidden_change, residual_change
from viz_encoder.analyses.token_similarity import over_smoothing, token_similarity
from viz_encoder.errors import SelectionError
from viz_encoder.export.states import Result
from viz_encoder.trace import Trace
from viz_encoder.trace.token_selection import kept_tokens, n_states
from viz_encoder.ui.state.run_description import printable
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire.numbers import finite, parse_index

MEASURED = ("likeness", "over_smoothing", "change", "parts", "plane", "nearest", "lens")
MAX_SIDE = 512  # cells a side of a matrix; more tokens come as means of blocks
WINDOW = 32  # tokens at which the head is read in every layer
NEAREST = 10


def measure_states(
    entry: Entry,
    what: str,
    *,
    layer: object = 0,
    token: object = 0,
    special: bool = True,
    center: str = CENTERS[0],
    task: str = "",
) -> Result:
    """One of MEASURED: the result of an analysis, with what the page leaves out left out.

    Args:
        entry: the run.
        what: "likeness" of tokens after a layer, "over_smoothing", "change" from block to block,
            "parts" of each block, "plane" of all layers, "nearest" tokens, or the "lens".
        layer: blocks passed, 0 = embeddings; for likeness and nearest.
        token: whose nearest tokens, or around which token the lens is read where there are many.
        special: whether tokens are kept that the model put there itself; the lens reads all.
        center: of the plane, "together" or "each layer".
        task: of the lens, which head; the first where not given.

    Raises:
        SelectionError: no such measure, layer, token or head; or the model is not here.
    """
    if what not in MEASURED:
        raise SelectionError(f"There is no measure {shown(what)}; choose {', '.join(MEASURED)}.")
    trace = entry.trace
    after = parse_index("layer", layer, n_states(trace))
    at = parse_index("token", token, trace.n_tokens)
    work: dict[str, Callable[[], Result]] = {
        "likeness": lambda: token_similarity(trace, after, special=special, size=MAX_SIDE),
        "over_smoothing": lambda: over_smoothing(trace, special=special),
        "change": lambda: hidden_change(trace, special=special),
        "parts": lambda: residual_change(entry.model(), trace, special=special),
        "plane": lambda: projection(trace, special=special, center=center),
        "nearest": lambda: nearest_tokens(trace, at, after, special=special, top=NEAREST),
        "lens": lambda: logit_lens(entry.model(), trace, task=task, tokens=around(trace, at)),
    }
    return work[what]()


def around(trace: Trace, token: int) -> list[int]:
    """The real tokens, or the WINDOW of them about one where there are more."""
    kept: list[int] = kept_tokens(trace).tolist()
    before = sum(at < token for at in kept)
    start = max(0, min(before - WINDOW // 2, len(kept) - WINDOW))
    return kept[start : start + WINDOW]


def plain(values: Any) -> Any:
    """For JSON: numbers without NaN, labels without characters that hide."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return finite(array)
    if array.dtype.kind == "U":
        return np.vectorize(printable, otypes=[object])(array).tolist() if array.size else []
    return array.tolist()
