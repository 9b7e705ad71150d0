"""Parses and checks runs, layers, heads, tokens and ranges in a client's URL."""

from dataclasses import replace
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import Annotated

from fastapi import Depends, Request

from viz_encoder.arguments import read_index
from viz_encoder.arguments.public import is_digits, written_heads
from viz_encoder.errors import SelectionError
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import Head, MapView
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import Entry

MAX_SIDE = 512  # cells a side of one answer: 1 MiB of float32


# Dependencies are coroutines: plain functions would each wait for a thread of the pool.
async def _runner(request: Request) -> Runner:
    runner: Runner = request.app.state.runner
    return runner


Runs = Annotated[Runner, Depends(_runner)]


async def _given(request: Request) -> dict[str, str]:
    return dict(request.query_params)


Given = Annotated[dict[str, str], Depends(_given)]  # what the address asks for, as it stands there


async def _entry(run: str, runs: Runs) -> Entry:
    return runs.store.get(run)


Held = Annotated[Entry, Depends(_entry)]


async def _layer(layer: int, entry: Held) -> int:
    return parse_index("layer", layer, entry.trace.n_layers)


async def _query(query: int, entry: Held) -> int:
    return parse_index("query", query, entry.trace.n_tokens)


Layer = Annotated[int, Depends(_layer)]
Query = Annotated[int, Depends(_query)]


async def _kept(
    hide_special: bool = False, renormalize: bool = False, words: bool = False
) -> MapView:
    return MapView(hide_special=hide_special, renormalize=renormalize, words=words)


KeptView = Annotated[MapView, Depends(_kept)]  # for every layer and head: only the switches


async def _map_view(entry: Held, layer: Layer, head: str, kept: KeptView) -> MapView:
    return replace(kept, layer=layer, head=parse_head(head, entry.trace))


Shown = Annotated[MapView, Depends(_map_view)]


def parse_head(head: object, trace: Trace) -> Head:
    """A head's number, "mean", "max", or several numbers joined by commas."""
    if head in ("mean", "max"):
        return str(head)
    found, last = written_heads("" if isinstance(head, bool) else str(head)), trace.n_heads - 1
    if found is None:
        raise SelectionError(f"There is no head {shown(head)}; choose 0 to {last}, mean or max.")
    for number in found if isinstance(found, tuple) else (found,):
        if number > last:
            raise SelectionError(f"There is no head {number}; this run has heads 0 to {last}.")
    return found


def parse_index(what: str, value: object, count: int) -> int:
    """A layer's or token's number, of which there are `count`; 3.0 is taken for 3."""
    plain = int(value) if isinstance(value, float) and value.is_integer() else value
    return read_index(what, plain, count)


def parse_range(text: str, count: int) -> slice:
    """A range of tokens such as 3:9, either end of which may be left out."""
    start, _, stop = text.partition(":")
    first, last = start or "0", stop or str(count)
    if not (is_digits(first) and is_digits(last)):
        raise SelectionError(f"{shown(text)} is not a range of tokens; write it as 0:{count}.")
    if not int(first) < int(last) <= count:
        raise SelectionError(f"{shown(text)} is not within this run's {count} tokens.")
    return slice(int(first), int(last))
