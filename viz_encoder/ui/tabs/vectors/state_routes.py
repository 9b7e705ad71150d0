"""Routes of a run's hidden states: the numbers that the page draws, and their files."""

from dataclasses import fields
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends, Request, Response
from jaxtyping import Float

from viz_encoder.analyses.projection import Projection
from viz_encoder.analyses.residual_change import HiddenChange, ResidualChange
from viz_encoder.analyses.token_similarity import TokenSimilarity, token_similarity
from viz_encoder.errors import SelectionError, TooLong
from viz_encoder.export.states import StateResult, state_lines, state_npz
from viz_encoder.trace.token_selection import n_states, real_token_numbers
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.tabs.vectors.states import ResultSettings, measure_states, plain
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Held
from viz_encoder.ui.wire.concurrency import Places
from viz_encoder.ui.wire.errors import ErrorRoute

MAX_TOGETHER = 64  # tokens of a run whose matrices of all layers travel at once
FILES = ("csv", "npz")
ROUTER = APIRouter(prefix="/run/{run}/hidden", route_class=ErrorRoute)
PLACES = Places(2)  # results that are computed at the same time; the others wait, or are given up


async def _asked(
    layer: int = 0,
    token: int = 0,
    hide_special: bool = False,
    center: str = "together",
    task: str = "",
) -> ResultSettings:
    return ResultSettings(layer, token, hide_special, center, task)


Wanted = Annotated[ResultSettings, Depends(_asked)]


@ROUTER.get("/cosine_similarities")
async def cosine_similarities(
    entry: Held, request: Request, hide_special: bool = False
) -> Response:
    """Cosines after every number of blocks, float32 "state token token", of a short run."""
    return await PLACES.answer(
        request, lambda: answers.array(_together(entry, hide_special), about={})
    )


@ROUTER.get("/take/{what}.{kind}")
async def take(entry: Held, what: str, kind: str, asked: Wanted, request: Request) -> Response:
    """A result as a file, csv or npz."""
    return await PLACES.answer(request, lambda: _file(entry, what, kind, asked))


@ROUTER.get("/{what}")
async def result(entry: Held, what: str, asked: Wanted, request: Request) -> Response:
    """A result: its numbers as float32 with x-shape, or all of it as JSON where it is short."""
    return await PLACES.answer(request, lambda: _drawn(measure_states(entry, what, asked)))


def _together(entry: Entry, hide_special: bool) -> Float[np.ndarray, "state token token"]:
    trace = entry.trace
    count = len(real_token_numbers(trace, hide_special=hide_special))
    if count > MAX_TOGETHER:
        raise TooLong(
            f"This run has {count:,} such tokens; the matrices of all layers come in one file "
            f"up to {MAX_TOGETHER}. Ask for one layer at a time."
        )
    layers = range(n_states(trace))
    found = (token_similarity(trace, at, hide_special=hide_special) for at in layers)
    return np.stack([each.cosines for each in found])


def _drawn(result: StateResult) -> Response:
    """Data the browser draws from."""
    match result:
        case TokenSimilarity():
            return answers.array(result.cosines, about={"edges": result.edges.tolist()})
        case HiddenChange():
            none = np.full((1, len(result.tokens)), np.nan)  # no block comes before the embeddings
            moved = [np.concatenate([none, each]) for each in (result.cosines, result.changes)]
            return answers.array(np.stack([result.norms, *moved]), about={})
        case ResidualChange():
            parts = result.attention, result.feed_forward
            shares = result.attention_shares, result.feed_forward_shares
            return answers.array(np.stack([*parts, *shares]), about={"preNorm": result.pre_norm})
        case Projection():
            return answers.array(result.points, about={"shares": result.shares.tolist()})
    content = {field.name: plain(getattr(result, field.name)) for field in fields(result)}
    return answers.plain(content)


def _file(entry: Entry, what: str, kind: str, asked: ResultSettings) -> Response:
    if kind not in FILES:
        raise SelectionError(f"There is no download {kind[:20]!r}; choose {', '.join(FILES)}.")
    found, trace = measure_states(entry, what, asked), entry.trace
    content = state_lines(trace, found) if kind == "csv" else state_npz(trace, found)
    return answers.download(content, f"{what}.{kind}")
