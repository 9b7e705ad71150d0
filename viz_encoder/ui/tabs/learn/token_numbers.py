"""One token through one layer, as data for the page: every number, and what is missing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.step import (
    FeedForwardStep,
    HeadsStep,
    NormStep,
    Stage,
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
    few = len(found.weights) <= MOST_VALUES
    told = {
        "q": _told(found.q),
        "k": None if found.k is None else _told(found.k[asked.key]),
        "v": _told(found.v) if few else None,
        "v_key": _told(found.v[asked.key]),
        "dots": _told(found.dots),
        "scale": _number(found.scale),
        "bias": _told(found.bias),
        "allowed": found.allowed.astype(int).tolist(),
        "sink": _number(found.sink),
        "scores": _told(found.scores),
        "weights": _told(found.weights),
        "out": _told(found.out),
        "max": _number(found.max),
        "sum": _number(found.sum),
    }
    return told, found.apart


def _embedding(entry: Entry, asked: NumbersAsked) -> ToldNumbers:
    encoder = entry.source(PURPOSE)
    found = embedding_step(encoder, entry.trace, asked.query, entry.inputs)
    told = {
        "id": found.id,
        "token": None if isinstance(encoder, RecordedParts) else _told(found.token),
        "position": _told(found.position),
        "segment": _told(found.segment),
        "scale": 1.0,
        "sum": _told(found.sum),
        "norm": _norm(found.norm),
        "out": _told(found.out),
        "projected": found.projected,
        "says": found.says or None,
    }
    return told, found.apart


def positions(entry: Entry) -> Float[np.ndarray, "token d_model"]:
    """The vector that is added for each of the first positions; no rows where none is added."""
    source, trace = entry.source(PURPOSE), entry.trace
    shown = range(min(trace.n_tokens, MOST_POSITIONS))
    rows = [embedding_step(source, trace, at, entry.inputs).position for at in shown]
    return np.array([row for row in rows if row is not None], np.float32)


def _projection(entry: Entry, asked: NumbersAsked) -> ToldNumbers:
    places = (asked.layer, asked.head, asked.query, asked.key)
    found, dim = projection_step(entry.source(PURPOSE), entry.trace, *places), asked.dim
    told = {
        "x": _told(found.x),
        "x_key": _told(found.x_key),
        "dim": dim,
        "column": _told(found.weight[dim]),
        "bias": None if found.bias is None else _number(found.bias[dim]),
        "sum": _number(found.sums[dim]),
        "q": _told(found.q),
        "k": _told(found.k),
        "v": _told(found.v),
        "q_before": _told(found.q_before),
        "k_before": _told(found.k_before),
        "says": found.says or None,
    }
    return told, found.apart


def _block(entry: Entry, asked: NumbersAsked) -> ToldNumbers:
    found = block_step(entry.source(PURPOSE), entry.trace, asked.layer, asked.query)
    told = {
        "heads": _heads(found.heads),
        "stages": [_stage(one) for one in found],
        "ffn": _network(found.feed_forward),
    }
    return told, found.apart


def _heads_alone(entry: Entry, asked: NumbersAsked) -> ToldNumbers:
    """For a recorded model of which only attention was read."""
    found = heads_step(entry.source(PURPOSE), entry.trace, asked.layer, asked.query)
    return _heads(found), None


def _stage(found: Stage) -> dict[str, Any]:
    return {
        "id": found.name,
        "title": found.title,
        "vector": _told(found.vector),
        "length": _number(found.length),
        "norm": _norm(found.norm),
        "says": found.says or None,
    }


def _network(found: FeedForwardStep) -> dict[str, Any]:
    return {
        "before": _told(found.before),
        "after": _told(found.after),
        "gate": _told(found.gate),
        "activation": str(found.activation),
        "on": found.on,
        "strongest": [[unit, _number(value)] for unit, value in found.strongest(STRONGEST)],
        "out": _told(found.out),
    }


def _heads(found: HeadsStep) -> dict[str, Any]:
    return {
        "lengths": _told(found.lengths),
        "parts": _told(found.parts),
        "bias": _told(found.bias),
        "sum": _told(found.sum),
        "length": _number(np.linalg.norm(found.sum)),
        "removed": list(found.removed),
    }


def _norm(found: NormStep | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "kind": found.kind,
        "mean": _number(found.mean),
        "std": _number(found.std),
        "eps": found.eps,
        "weight": _told(found.weight),
        "bias": _told(found.bias),
        "in": _told(found.before),
        "out": _told(found.after),
    }


def _told(values: np.ndarray | None) -> list[Any] | None:
    """Float32 with as many digits as bring the same float32 back; null for what is no number."""
    if values is None:
        return None
    if values.ndim > 1:
        return [_told(row) for row in values]
    return [float(f"{x:.9g}") if np.isfinite(x) else None for x in values.tolist()]


def _number(value: Any) -> float | None:
    return None if value is None else _told(np.array([value], np.float32))[0]  # type: ignore[index]


NumbersWork = Callable[[Entry, NumbersAsked], ToldNumbers]
WORK: dict[str, NumbersWork] = {
    "embedding": _embedding,
    "projection": _projection,
    "attention": _attention,
    "block": _block,
}
