"""Routes of the Vectors tab: a run's states and poolings, a set, a learned query, and files."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from viz_encoder.analyses.collection import Collection
from viz_encoder.analyses.token_pairs import not_a_sum
from viz_encoder.arguments import Count
from viz_encoder.errors import SelectionError
from viz_encoder.export.vectors import save_vectors
from viz_encoder.result import csv_text
from viz_encoder.ui.state.sets import LearnedEntry, SetEntry
from viz_encoder.ui.tabs.vectors import states
from viz_encoder.ui.tabs.vectors.results import (
    item_plain,
    padding_plain,
    pooled_plain,
)
from viz_encoder.ui.tabs.vectors.two_texts import alike_plain, token_pairs_plain
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Held, Runs, parse_index
from viz_encoder.ui.wire.concurrency import Places, Plain, at_once
from viz_encoder.ui.wire.errors import ErrorRoute

NEIGHBORS = 8
FILES = {kind: f"vectors.{kind}" for kind in ("csv", "npz", "arrow", "parquet")}
FILES["table.csv"] = "poolings.csv"
ROUTER = APIRouter(prefix="/viz", route_class=ErrorRoute)
ROUTER.include_router(states.ROUTER)
PLACES = Places(1)  # files of whole sets


async def _set(key: str, runs: Runs) -> SetEntry:
    return runs.sets.compared.get(key)


async def _learned(key: str, runs: Runs) -> LearnedEntry:
    return runs.sets.learned.get(key)


HeldSet = Annotated[SetEntry, Depends(_set)]
HeldQuery = Annotated[LearnedEntry, Depends(_learned)]


@ROUTER.get("/run/{run}/pooled")
@at_once
def pooled(entry: Held, runs: Runs, layer: int = -1, learned: str = "") -> Plain:
    """A run's pooled vectors: norms, cosines and each token's share, after one layer.

    Layer 0 is the embeddings, -1 the output; learned is a key from /attention_pooling.
    """
    query = runs.sets.learned.get(learned) if learned else None
    return pooled_plain(entry, layer, query)


@ROUTER.get("/run/{run}/padding")
@at_once
def padding_drift(entry: Held, padding: Count = 16, layer: int = -1) -> Plain:
    """Drift of each pooling of a run's text with padding, with the mask and without it."""
    return padding_plain(entry, padding, layer)


@ROUTER.get("/run/{run}/token_pairs")
def pairs(entry: Held, other: str = "", method: str = "mean", state: int = -1) -> Response:
    """Token pairs that make this text and another similar; the map is a figure.

    If the pooling is not a sum over tokens, returns only `why` and the cosine for each pooling.
    """
    if why := not_a_sum(method, entry.encoder):
        return answers.plain({"why": why, **alike_plain(entry, other, state)})
    return answers.plain({**token_pairs_plain(entry, other, method, state), "why": ""})


@ROUTER.get("/set/{key}/plane")
def plane(compared: HeldSet, method: str, layer: int = -1) -> Response:
    """Position of each item along two principal components, float32 "item 2", and their shares."""
    found = compared.found.plane(method, layer)
    return answers.array(found.points, about={"shares": found.shares.tolist()})


@ROUTER.get("/set/{key}/neighbors")
def neighbors(
    compared: HeldSet, method: str, item: int, layer: int = -1, k: int = NEIGHBORS
) -> Response:
    """The items of the largest cosine with one."""
    near = compared.found.neighbors(method, layer, item=item, k=k)
    return answers.plain([vars(each) for each in near])


@ROUTER.get("/set/{key}/item/{item}.png")
def picture(compared: HeldSet, item: int) -> Response:
    """An item's picture, as the model read it."""
    pictures = compared.pictures
    return _picture(pictures[parse_index("item", item, len(pictures))] if pictures else b"")


@ROUTER.get("/set/{key}/take/{kind}")
@PLACES
def take(compared: HeldSet, kind: str, method: str = "", layer: int = -1) -> Response:
    """All vectors, or those of one method and layer, as a file; or the table as table.csv."""
    answers.require_kind(kind, FILES)
    found = compared.found
    part = one_row(found, method, layer) if method else found
    return answers.download(_content(part, kind), FILES[kind])


@ROUTER.get("/learned/{key}/item/{item}")
def weighed(learned: HeldQuery, item: int) -> Response:
    """Weights of the learned query on the tokens of an item of its set."""
    return answers.plain(item_plain(learned, item))


@ROUTER.get("/learned/{key}/item/{item}/picture.png")
def weighed_picture(learned: HeldQuery, item: int) -> Response:
    """That item's picture, as the model read it."""
    chosen = learned.items[parse_index("item", item, len(learned.items))]
    return _picture(answers.png(chosen.sample.picture))


def one_row(found: Collection, method: str, layer: int) -> Collection:
    """The set with only the vectors of one method at one layer."""
    vectors = found.of(method, layer)[None]
    at = found.states[-1] if layer == -1 else layer
    return replace(found, methods=(method,), states=(at,), vectors={method: vectors})


def _picture(content: bytes) -> Response:
    if not content:
        raise SelectionError("This set is of texts; it has no pictures.")
    return answers.picture(content)


def _content(found: Collection, kind: str) -> bytes:
    if kind == "table.csv":
        return csv_text(found.table().columns()).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, FILES[kind])
        save_vectors(found, path)
        return path.read_bytes()
