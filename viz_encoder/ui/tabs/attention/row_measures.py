"""One query's row of each measure: weights, value-weighted lengths, rollout and relevance."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from reprlib import repr as shown  # truncates: client input can be of any length
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.overview import row
from viz_encoder.analyses.relevance import ANSWERS, Relevance, relevance
from viz_encoder.analyses.rollout import rollout
from viz_encoder.analyses.value_weighted import value_weighted
from viz_encoder.config import HeadPool
from viz_encoder.errors import SelectionError, TooLong
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import Head, MapView
from viz_encoder.trace.shown_rows import AS_IT_RAN
from viz_encoder.trace.token_selection import shown_tokens
from viz_encoder.ui.state.store import HEAD_REMOVED, NOT_PLAIN, Entry

MEASURES = ("weight", "value", "rollout", "relevance")
KEPT = 6  # results of a run that are kept, all layers each
MAX_ROLLOUT_TOKENS = 4096  # one query's rollout walks through all maps, many times


@dataclass(frozen=True, eq=False)
class Measured:
    """One query's row of a measure; `answer` names the answer it is for, if any."""

    values: Float[np.ndarray, " key"]
    answer: str = ""


@dataclass(frozen=True, eq=False)
class _AllLayers:
    rows: Float[np.ndarray, "layer key"]
    answer: str = ""


class Measures:
    """Measures of held runs; what took long is kept for as long as its run, the last few of it."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[Entry, OrderedDict[tuple[str, int], _AllLayers]]
        self._kept = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()  # relevance holds all maps and their gradients

    def of(self, entry: Entry, measure: str, layer: int, head: Head, query: int) -> Measured:
        """One query's row: the measure of each key after that layer.

        "weight" and "value" are of one head, the mean of several or the largest of all; "rollout"
        and "relevance" join all heads of all layers up to this one.

        Raises:
            SelectionError: no such measure, or the model that ran is not here.
            TooLong: more tokens than the measure is computed for.
        """
        if measure == "weight":
            return Measured(row(entry.trace, layer, head, query).weights)
        if measure == "value":
            return Measured(_value(entry, layer, head, query))
        if measure not in MEASURES:
            raise SelectionError(
                f"There is no measure {shown(measure)}; choose {', '.join(MEASURES)}."
            )
        found = self._all_layers(entry, measure, query)
        return Measured(found.rows[layer], found.answer)

    def _all_layers(self, entry: Entry, measure: str, query: int) -> _AllLayers:
        known = self._known(entry, measure, query)
        if known:
            return known
        with self._one_at_a_time:
            known = self._known(entry, measure, query)  # whoever came first may have asked for it
            if not known:
                known = _rollout(entry, query) if measure == "rollout" else _relevance(entry, query)
                self._keep(entry, measure, query, known)
        return known

    def _known(self, entry: Entry, measure: str, query: int) -> _AllLayers | None:
        with self._lock:
            kept = self._kept.get(entry, OrderedDict())
            if (measure, query) in kept:
                kept.move_to_end((measure, query))
            return kept.get((measure, query))

    def _keep(self, entry: Entry, measure: str, query: int, found: _AllLayers) -> None:
        with self._lock:
            kept = self._kept.setdefault(entry, OrderedDict())
            kept[measure, query] = found
            while len(kept) > KEPT:
                kept.popitem(last=False)


def rows_of(
    trace: Trace, layer: int, query: int, view: MapView = AS_IT_RAN
) -> Float[np.ndarray, "head key"]:
    """One query's weights in every head of a layer, as a view shows them; NaN where masked."""
    kept = shown_tokens(trace, hide_special=view.hide_special, words=view.words)
    merged = next(each for each in shown_tokens(trace, words=view.words) if query in each)
    rows = (
        row(trace, layer, head, merged, tokens=kept, renormalize=view.renormalize)
        for head in range(trace.layers[layer].n_heads)
    )
    return np.stack([each.weights for each in rows])


def _value(entry: Entry, layer: int, head: Head, query: int) -> Float[np.ndarray, " key"]:
    """‖α · v · W_O‖ of one head, or the mean or the largest of several; NaN where masked."""
    encoder, trace = entry.model(), entry.trace
    if any(its == layer for its, _ in entry.removed):
        raise SelectionError(HEAD_REMOVED)
    one, rows = head if isinstance(head, int) else None, slice(query, query + 1)
    each = value_weighted(encoder, trace, layer, one, rows).norms[:, 0]
    each = each[list(head)] if isinstance(head, tuple) else each
    norms = np.max(each, axis=0) if head == "max" else np.mean(each, axis=0)
    allowed = ~np.isnan(row(trace, layer, head, query).weights)
    return np.where(allowed, norms, np.nan).astype(np.float32)


def _rollout(entry: Entry, query: int) -> _AllLayers:
    if entry.trace.n_tokens > MAX_ROLLOUT_TOKENS:
        raise TooLong(
            f"This run has {entry.trace.n_tokens:,} tokens; the page computes rollout up to "
            f"{MAX_ROLLOUT_TOKENS:,}. In Python, viz_encoder.analyses.rollout has no limit."
        )
    return _AllLayers(rollout(entry.trace, query).rows)


def _relevance(entry: Entry, query: int) -> _AllLayers:
    """Relevance of the likeliest label: of the whole input, or at the query for token heads."""
    encoder = entry.model()
    if not entry.plain:
        raise SelectionError(NOT_PLAIN)
    if entry.inputs is None:
        raise SelectionError(entry.model_gone("see this"))
    head = next((one for one in encoder.config.prediction_heads if one.task in ANSWERS), None)
    token = query if head is not None and head.pool is HeadPool.EACH else None
    found = relevance(encoder, entry.inputs, token=token, query=query)
    return _AllLayers(found.rows, _answer(found))


def _answer(found: Relevance) -> str:
    place = "" if found.token is None else f" at token {found.token}"
    return f"“{found.label}”{place}"
