"""Measures of a run's hidden states, by the names that page and clients use, and their routes."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Response

from viz_encoder.analyses.nearest_tokens import nearest_tokens
from viz_encoder.analyses.predictions import logit_lens
from viz_encoder.analyses.projection import projection
from viz_encoder.analyses.residual_change import hidden_change, residual_change
from viz_encoder.analyses.token_similarity import TokenSimilarity, over_smoothing, token_similarity
from viz_encoder.errors import SelectionError
from viz_encoder.export.states import StateResult, state_arrays, state_lines, state_npz
from viz_encoder.trace import Trace
from viz_encoder.trace.token_selection import n_states, real_token_numbers
from viz_encoder.ui.state.readable import printable
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Held, parse_index
from viz_encoder.ui.wire.bytes import finite
from viz_encoder.ui.wire.concurrency import Places
from viz_encoder.ui.wire.errors import ErrorRoute

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

    layer: int = 0  # blocks passed, 0 = embeddings; for token_similarity and nearest_tokens
    token: int = 0  # whose nearest tokens, or around which the lens reads where there are many
    hide_special: bool = False  # whether special tokens such as [CLS] are left out


def measure_states(entry: Entry, what: str, asked: ResultSettings) -> StateResult:
    """One of MEASURED: the result of an analysis, with what the page leaves out left out."""
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
        "projection": lambda: projection(trace, hide_special=hidden),
        "nearest_tokens": lambda: nearest_tokens(trace, at, after, hide_special=hidden, n=NEAREST),
        "logit_lens": lambda: logit_lens(entry.model(), trace, tokens=around(trace, at)),
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


FILES = ("csv", "npz")
ROUTER = APIRouter(prefix="/run/{run}/hidden", route_class=ErrorRoute)
PLACES = Places(2)  # results that are computed at the same time; the others wait, or are given up


Wanted = Annotated[ResultSettings, Depends()]


@ROUTER.get("/take/{what}.{kind}")
@PLACES
def take(entry: Held, what: str, kind: str, asked: Wanted) -> Response:
    """A result as a file, csv or npz."""
    answers.require_kind(kind, FILES)
    found, trace = measure_states(entry, what, asked), entry.trace
    content = state_lines(trace, found) if kind == "csv" else state_npz(trace, found)
    return answers.download(content, f"{what}.{kind}")


@ROUTER.get("/{what}")
@PLACES
def result(entry: Held, what: str, asked: Wanted) -> Response:
    """A result as JSON; a matrix of cosines as float32 with x-shape."""
    found = measure_states(entry, what, asked)
    if isinstance(found, TokenSimilarity):
        return answers.array(found.cosines, about={"edges": found.edges.tolist()})
    return answers.plain({each.name: plain(getattr(found, each.name)) for each in fields(found)})


def hidden_states(
    runner: Runner,
    key: str,
    what: str,
    layer: int = 0,
    token: int = 0,
    hide_special: bool = False,
) -> dict[str, Any]:
    """A measure of a run's hidden states, every field by its name; null = not defined.

    what is "token_similarity", "over_smoothing", "hidden_change", "residual_change", "projection",
    "nearest_tokens" or "logit_lens"; layer counts blocks passed, 0 = embeddings. Over 512 tokens
    token_similarity is of blocks of tokens, from one of the edges to the next; over 32, logit_lens
    reads those about the token. hide_special leaves out tokens such as [CLS].
    """
    entry = runner.store.get(key)
    asked = ResultSettings(layer, token, hide_special=bool(hide_special))
    found = measure_states(entry, what, asked)
    return {name: plain(values) for name, values in state_arrays(entry.trace, found).items()}
