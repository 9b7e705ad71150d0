"""Numbers for the words and the picture: one key's column, all heads' rows, and other measures."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from reprlib import repr as shown  # cut short: a client may send anything, of any length
from typing import Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

import numpy as np
from fastapi import APIRouter, Request, Response
from jaxtyping import Float
from starlette.concurrency import run_in_threadpool

from viz_encoder.analyses.column import column_blocks
from viz_encoder.analyses.overview import overview, row, shown_tokens
from viz_encoder.analyses.relevance import ANSWERS, Relevance, relevance
from viz_encoder.analyses.rollout import rollout
from viz_encoder.analyses.value_weighted import value_weighted
from viz_encoder.config import HeadPool
from viz_encoder.errors import SelectionError, TooLong
from viz_encoder.trace import Trace
from viz_encoder.ui.state.run_description import printable
from viz_encoder.ui.state.store import Entry, TraceStore, model_gone
from viz_encoder.ui.wire.concurrency import Places
from viz_encoder.ui.wire.numbers import Head, parse_head, parse_index

MEASURES = ("weight", "value", "rollout", "relevance")
KEPT = 6  # results of a run that are kept, all layers each
MAX_ROLLOUT_TOKENS = 4096  # one query's rollout walks through all maps, many times
AT_ONCE = 1  # of rollout and relevance, which hold much; the others wait, or are given up
POLL_SECONDS = 0.1
ROWS = 512  # of a column, between two looks at whether it is still wanted


@dataclass(frozen=True, eq=False)
class Measured:
    """One query's row of a measure; `answer` says of which answer, where it is of one."""

    values: Float[np.ndarray, " key"]
    answer: str = ""


@dataclass(frozen=True, eq=False)
class _AllLayers:
    rows: Float[np.ndarray, "layer key"]
    answer: str = ""


class Measures:
    """Measures of held runs; what took long is kept for as long as its run, the last few of it."""

    def __init__(self) -> None:
        """Nothing kept yet."""
        self._kept: WeakKeyDictionary[Entry, OrderedDict[tuple[str, int], _AllLayers]]
        self._kept = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()  # relevance holds all maps and their gradients

    def of(self, entry: Entry, measure: str, layer: int, head: Head, query: int) -> Measured:
        """One query's row: what each key has of the measure after that layer.

        "weight" and "value" are of one head, the mean of several or the largest of all; "rollout"
        and "relevance" join all heads of all layers up to this one.

        Raises:
            SelectionError: no such measure, or the model that ran is not here.
            TooLong: more tokens than the measure is computed for.
        """
        if measure == "weight":
            return Measured(row(entry.trace, layer, head, query))
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


def make_measured_router(
    store: TraceStore, route_class: type[Any], array: Callable[[np.ndarray], Response]
) -> APIRouter:
    """The routes of one store, under /viz/run/{run}: column, rows and measured."""
    router, measures = APIRouter(prefix="/viz/run/{run}", route_class=route_class), Measures()
    places = Places(AT_ONCE)

    @router.get("/column")
    async def key_column(
        run: str,
        request: Request,
        layer: int,
        head: str,
        key: int,
        hide: bool = False,
        renorm: bool = False,
        words: bool = False,
    ) -> Response:
        """One key's weight from every query, float32, exact; NaN = masked.

        hide, renorm and words are those of /map; with words, the key is the word that it is in.
        Whoever asks and goes away again stops the work.
        """
        trace = store.get(run).trace
        parse_index("layer", layer, trace.n_layers)
        parse_index("key", key, trace.n_tokens)
        place = layer, parse_head(head, trace)
        if hide or renorm or words:
            kept = shown_tokens(trace, special=not hide, words=words)
            parts = _shown_column(trace, *place, key, kept, renorm)
        else:
            parts = column_blocks(trace, *place, key)
        return array(await _while_wanted(parts, request))

    @router.get("/rows")
    def rows(run: str, layer: int, query: int) -> Response:
        """One query's weights over all keys by every head of a layer, float32 "head key"."""
        trace = store.get(run).trace
        parse_index("layer", layer, trace.n_layers)
        parse_index("query", query, trace.n_tokens)
        return array(rows_of(trace, layer, query))

    @router.get("/measured")
    async def measured(
        run: str, request: Request, measure: str, layer: int, head: str, query: int
    ) -> Response:
        """One query's row of a measure, float32 " key"; x-answer names the answer it is of."""
        entry = store.get(run)
        parse_index("layer", layer, entry.trace.n_layers)
        parse_index("query", query, entry.trace.n_tokens)
        place = layer, parse_head(head, entry.trace), query

        def work() -> Response:
            found = measures.of(entry, measure, *place)
            answer = array(found.values)
            answer.headers["x-answer"] = quote(printable(found.answer))
            return answer

        return await places.answer(request, work)

    return router


def rows_of(trace: Trace, layer: int, query: int) -> Float[np.ndarray, "head key"]:
    """One query's weights by every head of a layer; NaN where the mask forbids the key."""
    n_heads = trace.layers[layer].n_heads
    return np.stack([row(trace, layer, head, query) for head in range(n_heads)])


def _shown_column(
    trace: Trace, layer: int, head: Head, key: int, kept: list[tuple[int, ...]], renormalize: bool
) -> Iterator[np.ndarray]:
    """The column of a map as it is shown, some rows at a time."""
    at = next((place for place, entry in enumerate(kept) if key in entry), None)
    if at is None:
        raise SelectionError(f"Key {key} is a special token, and those are hidden; show them.")
    for start in range(0, len(kept), ROWS):
        rows = slice(start, start + ROWS)
        part = overview(
            *(trace, layer, head),
            rows=rows,
            keys=slice(at, at + 1),
            size=ROWS,
            tokens=kept,
            renormalize=renormalize,
        )
        yield part.values[:, 0]


async def _while_wanted(parts: Iterator[np.ndarray], request: Request) -> np.ndarray:
    """All parts as one, unless the client goes away: then it stops after the next part."""
    gone = threading.Event()

    def work() -> np.ndarray:
        done = [next(parts)]
        for part in parts:
            if gone.is_set():
                break
            done.append(part)
        return np.concatenate(done)

    working = asyncio.ensure_future(run_in_threadpool(work))
    while not working.done():
        await asyncio.wait([working], timeout=POLL_SECONDS)
        if await request.is_disconnected():
            gone.set()
    return await working


def _value(entry: Entry, layer: int, head: Head, query: int) -> Float[np.ndarray, " key"]:
    """‖α · v · W_O‖ of one head, or the mean or the largest of several; NaN where masked."""
    encoder, trace = entry.model(), entry.trace
    one, rows = head if isinstance(head, int) else None, slice(query, query + 1)
    each = value_weighted(encoder, trace, layer, one, rows).norms[:, 0]
    each = each[list(head)] if isinstance(head, tuple) else each
    norms = np.max(each, axis=0) if head == "max" else np.mean(each, axis=0)
    allowed = ~np.isnan(row(trace, layer, head, query))
    return np.where(allowed, norms, np.nan).astype(np.float32)


def _rollout(entry: Entry, query: int) -> _AllLayers:
    if entry.trace.n_tokens > MAX_ROLLOUT_TOKENS:
        raise TooLong(
            f"This run has {entry.trace.n_tokens:,} tokens; the page computes rollout up to "
            f"{MAX_ROLLOUT_TOKENS:,}. In Python, viz_encoder.analyses.rollout has no limit."
        )
    return _AllLayers(rollout(entry.trace, query).rows)


def _relevance(entry: Entry, query: int) -> _AllLayers:
    """Of the likeliest label: of the whole input, or at the query where heads speak of tokens."""
    encoder = entry.model()
    if entry.inputs is None:
        raise SelectionError(model_gone("see this"))
    head = next((one for one in encoder.config.heads if one.task in ANSWERS), None)
    token = query if head is not None and head.pool is HeadPool.EACH else None
    found = relevance(encoder, entry.inputs, token=token, query=query)
    return _AllLayers(found.rows, _answer(found))


def _answer(found: Relevance) -> str:
    place = "" if found.token is None else f" at token {found.token}"
    return f"“{found.label}”{place}"
