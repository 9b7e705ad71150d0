"""Findings and measures of whole heads as plain data, for the routes and the endpoints."""

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from viz_encoder.analyses.findings import Finding, Findings, role_shares
from viz_encoder.analyses.similar_heads import similar_layers
from viz_encoder.trace import Trace
from viz_encoder.ui.state.readable import printable
from viz_encoder.ui.wire.bytes import finite

ISOLATED = re.compile("([\u2068\u2069])")  # around what is read from right to left
MOST_QUERIES = 512  # sampled evenly from longer texts to compare heads


def role_plain(trace: Trace, role: str, offset: int, layer: int) -> dict[str, Any]:
    """One layer's shares for JSON, null where there is none, and their number of queries."""
    found = role_shares(trace, role, offset=offset, layers=(layer,))
    n_heads = trace.layers[layer].n_heads
    return {"shares": finite(found.shares[0, :n_heads]), "queries": found.n_queries}


def distances(trace: Trace, layer: int, head: int) -> Iterator[np.ndarray]:
    """The Jensen–Shannon distance of every head to one, layer by layer."""
    return similar_layers(trace, layer, head, most_queries=MOST_QUERIES)


def similar_plain(distances: np.ndarray, trace: Trace) -> dict[str, Any]:
    """The distances for JSON, a list a layer, and over how many queries each is a mean."""
    n_queries = min(MOST_QUERIES, int(trace.valid.sum()))
    return {"distances": finite(distances), "queries": n_queries}


def plain_findings(found: Findings) -> dict[str, Any]:
    """The opening sentence, and every finding by the names of its fields."""
    return {"sentence": _readable(found.sentence), "found": [_plain(finding) for finding in found]}


def _plain(finding: Finding) -> dict[str, Any]:
    plain = {field.name: getattr(finding, field.name) for field in fields(finding)}
    words = {name: _readable(plain[name]) for name in ("sentence", "chip")}
    numbers = {name: finite(plain[name]) for name in ("weight", "ratio") if plain[name] is not None}
    return plain | words | numbers


def _readable(text: str) -> str:
    """The text with what would hide or turn others written out, but for its own isolation."""
    parts = ISOLATED.split(text)
    return "".join(part if ISOLATED.match(part) else printable(part) for part in parts)
