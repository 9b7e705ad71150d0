"""Measures of a run's hidden states, by the names that the page and clients use."""

from collections.abc import Callable
from dataclasses import dataclass
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import Any

import numpy as np

from viz_encoder.analyses.logit_lens import logit_lens
from viz_encoder.analyses.nearest_tokens import nearest_tokens
from viz_encoder.analyses.projection import CENTERS, projection
from viz_encoder.analyses.residual_change import hidden_change, residual_change
from viz_encoder.analyses.token_similarity import over_smoothing, token_similarity
from viz_encoder.errors import SelectionError
from viz_encoder.export.states import StateResult
from viz_encoder.trace import Trace
from viz_encoder.trace.token_selection import n_states, real_token_numbers
from viz_encoder.ui.state.readable import printable
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire.arguments import parse_index
from viz_encoder.ui.wire.bytes import finite

MEASURED = (
    *("token_similarity", "over_smoothing", "hidden_change", "residual_change"),
    *("projection", "nearest_tokens", "logit_lens"),
)
MAX_SIDE = 512  # cells a side of a matrix; more tokens come as means of blocks
WINDOW = 32  # tokens at which the head is read in every layer
NEAREST = 10


@dataclass(frozen=True)
class ResultSettings:
    """Settings of a result; client values, checked before use."""

    layer: object = 0  # blocks passed, 0 = embeddings; for token_similarity and nearest_tokens
    token: object = 0  # whose nearest tokens, or around which the lens reads where there are many
    hide_special: bool = False  # whether special tokens such as [CLS] are left out
    center: str = CENTERS[0]  # for PCA, "together" or "each layer"
    task: str = ""  # prediction head of the lens; default the first


def measure_states(entry: Entry, what: str, asked: ResultSettings) -> StateResult:
    """One of MEASURED: the result of an analysis, with what the page leaves out left out.

    Raises:
        SelectionError: no such measure, layer, token or head; or the model is not here.
    """
    if what not in MEASURED:
        raise SelectionError(f"There is no measure {shown(what)}; choose {', '.join(MEASURED)}.")
    trace, hidden = entry.trace, asked.hide_special
    after = parse_index("layer", asked.layer, n_states(trace))
    at = parse_index("token", asked.token, trace.n_tokens)
    work: dict[str, Callable[[], StateResult]] = {
        "token_similarity": lambda: token_similarity(
            trace, after, hide_special=hidden, size=MAX_SIDE
        ),
        "over_smoothing": lambda: over_smoothing(trace, hide_special=hidden),
        "hidden_change": lambda: hidden_change(trace, hide_special=hidden),
        "residual_change": lambda: residual_change(
            entry.whole_source(), trace, hide_special=hidden
        ),
        "projection": lambda: projection(trace, hide_special=hidden, center=asked.center),
        "nearest_tokens": lambda: nearest_tokens(trace, at, after, hide_special=hidden, n=NEAREST),
        "logit_lens": lambda: logit_lens(
            entry.model(), trace, task=asked.task, tokens=around(trace, at)
        ),
    }
    return work[what]()


def around(trace: Trace, token: int) -> list[int]:
    """The real tokens, or the WINDOW of them about one where there are more."""
    kept: list[int] = real_token_numbers(trace).tolist()
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
