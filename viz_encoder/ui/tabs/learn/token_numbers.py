"""One token through one layer, as data for the page: every number, and what is missing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.step import (
    NormStep,
    attention_step,
    block_step,
    embedding_step,
    heads_step,
    projection_step,
)
from viz_encoder.errors import VizEncoderError
from viz_encoder.trace.recorded_parts import RecordedParts
from viz_encoder.ui.state.store import Entry

MOST_VALUES = 256  # tokens up to which all values of a head travel
STRONGEST = 8
MOST_POSITIONS = 64  # rows of the picture of all positions
MAPS_ALONE = (
    "This model computes its softmax itself: only its maps are kept, without queries and keys."
)
PURPOSE = "see its embeddings, projections and blocks"
HEADS = "lengths parts bias sum"
OF_THE_BLOCK = ("heads", "stages", "ffn")
ToldNumbers = tuple[dict[str, Any], float | None]  # and how far it is from what ran


@dataclass(frozen=True)
class NumbersAsked:
    """Numbers requested, already validated."""

    layer: int
    head: int
    query: int
    key: int
    dim: int


def token_numbers(entry: Entry, asked: NumbersAsked) -> dict[str, Any]:
    """All steps of one token in one layer; None where unreadable, with the reason in `missing`."""
    parts = _Parts(entry, asked)
    told = {name: parts.get(name, work) for name, work in WORK.items()}
    if told["attention"] and told["attention"]["q"] is None:
        parts.missing["scores"] = MAPS_ALONE
    whole = told.pop("block") or dict.fromkeys(OF_THE_BLOCK)
    if "block" in parts.missing:
        parts.missing |= dict.fromkeys(OF_THE_BLOCK, parts.missing.pop("block"))
        if isinstance(entry.weights, RecordedParts):
            del parts.missing["heads"]
            whole["heads"] = parts.get("heads", _heads_alone)
    agrees = max(parts.apart) if parts.apart else None
    return {"ids": _ids(entry), **told, **whole, "agrees": agrees, "missing": parts.missing}


def _ids(entry: Entry) -> list[int] | None:
    """The number of every token in the vocabulary; None for patches, vectors and a saved run."""
    inputs = entry.inputs
    if inputs is None or inputs.values.is_floating_point():
        return None
    ids: list[int] = inputs.values[0].tolist()
    return ids


class _Parts:
    """The parts so far, why some are missing, and how far the others are from what ran."""

    def __init__(self, entry: Entry, asked: NumbersAsked) -> None:
        self.entry, self.asked = entry, asked
        self.missing: dict[str, str] = {}
        self.apart: list[float] = []

    def get(self, name: str, work: "NumbersWork") -> dict[str, Any] | None:
        try:
            told, apart = work(self.entry, self.asked)
        except VizEncoderError as fault:
            self.missing[name] = str(fault)
            return None
        self.apart += [] if apart is None else [apart]
        return told


def _attention(entry: Entry, asked: NumbersAsked) -> ToldNumbers:
    found = attention_step(entry.trace, asked.layer, asked.head, asked.query)
    told = _some(found, "q dots scale bias sink scores weights out")
    told["k"] = None if found.k is None else _told(found.k[asked.key])
    told["v"] = _told(found.v) if len(found.weights) <= MOST_VALUES else None
    return {**told, "allowed": found.allowed.astype(int).tolist()}, found.apart


def _embedding(entry: Entry, asked: NumbersAsked) -> ToldNumbers:
    encoder = entry.source(PURPOSE)
    found = embedding_step(encoder, entry.trace, asked.query, entry.inputs)
    told = _some(found, "id token position segment sum norm out says")
    return told | ({"token": None} if isinstance(encoder, RecordedParts) else {}), found.apart


def positions(entry: Entry) -> Float[np.ndarray, "token d_model"]:
    """The vector that is added for each of the first positions; no rows where none is added."""
    source, trace = entry.source(PURPOSE), entry.trace
    shown = range(min(trace.n_tokens, MOST_POSITIONS))
    rows = [embedding_step(source, trace, at, entry.inputs).position for at in shown]
    return np.array([row for row in rows if row is not None], np.float32)


def _projection(entry: Entry, asked: NumbersAsked) -> ToldNumbers:
    places = (asked.layer, asked.head, asked.query, asked.key)
    found, dim = projection_step(entry.source(PURPOSE), entry.trace, *places), asked.dim
    bias = None if found.bias is None else found.bias[dim]
    one = {"column": found.weight[dim], "bias": bias, "sum": found.sums[dim]}
    told = _some(found, "x q k v q_before k_before says")
    return {**told, "dim": dim, **{name: _told(value) for name, value in one.items()}}, found.apart


def _block(entry: Entry, asked: NumbersAsked) -> ToldNumbers:
    found = block_step(entry.source(PURPOSE), entry.trace, asked.layer, asked.query)
    network = found.feed_forward
    strongest = [[unit, _told(value)] for unit, value in network.strongest(STRONGEST)]
    told = {
        "heads": _some(found.heads, HEADS),
        "stages": [{"id": one.name, **_some(one, "title vector length norm")} for one in found],
        "ffn": {**_some(network, "before after activation on out"), "strongest": strongest},
    }
    return told, found.apart


def _heads_alone(entry: Entry, asked: NumbersAsked) -> ToldNumbers:
    """For a recorded model of which only attention was read."""
    found = heads_step(entry.source(PURPOSE), entry.trace, asked.layer, asked.query)
    return _some(found, HEADS), None


def _some(found: Any, names: str) -> dict[str, Any]:
    """These parts of a result, for the page."""
    return {name: _told(getattr(found, name)) for name in names.split()}


def _told(value: Any) -> Any:
    """Float32 with as many digits as bring the same float32 back; null for what is no number."""
    if isinstance(value, NormStep):
        return _some(value, "kind mean std weight bias before after")
    if isinstance(value, np.ndarray) and value.ndim:
        return [_told(part) for part in value]
    if isinstance(value, float | np.number | np.ndarray):
        return float(f"{np.float32(value):.9g}") if np.isfinite(value) else None
    return value


NumbersWork = Callable[[Entry, NumbersAsked], ToldNumbers]
WORK: dict[str, NumbersWork] = {
    "embedding": _embedding,
    "projection": _projection,
    "attention": _attention,
    "block": _block,
}
