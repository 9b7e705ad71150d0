"""Role weight: how much of a head's weight lies on one kind of token, and over how many queries."""

import torch

from viz_encoder.analyses.findings.reading import RunTokens
from viz_encoder.analyses.findings.sweep import QuerySums

BY_OFFSET = {"previous": -1, "same": 0, "next": 1}
SIDES = {"across": (0, 1), "a_to_b": (0,), "b_to_a": (1,)}  # whose words look at the other text


def n_with(reading: RunTokens, offset: int) -> int:
    """Number of real queries with a real token at that offset."""
    real = reading.real
    n = len(real) - abs(offset)
    return int((real[:n] & real[abs(offset) :]).sum()) if n > 0 else 0


def n_asked(kind: str, offset: int, reading: RunTokens) -> int:
    """Number of real queries that a role's mean is over: those that have such a key."""
    if kind in BY_OFFSET or kind == "offset":
        return n_with(reading, offset)
    if kind in SIDES:
        sides = reading.segment[reading.content]
        n_words = [int((sides == side).sum()) for side in (0, 1)]
        return sum(n_words[side] for side in SIDES[kind]) if all(n_words) else 0
    return int(reading.real.sum())


def weight_on(kind: str, offset: int, sums: QuerySums, reading: RunTokens) -> float:
    """Total weight of these queries on keys of that kind."""
    if kind in BY_OFFSET or kind == "offset":
        return sums.at_offset[offset]
    if kind in SIDES:
        return float(sum(sums.between[side] for side in SIDES[kind]))
    return float(sums.to_key[keys_of(kind, reading)].sum())


def keys_of(kind: str, reading: RunTokens) -> list[int]:
    """The first token, all punctuation or all delimiters; a sink is the first or a delimiter."""
    first = torch.arange(len(reading.names)) == reading.first
    chosen = {
        "first": first,
        "punctuation": reading.punctuation,
        "delimiter": reading.delimiter,
        "sink": reading.delimiter | first,
    }
    return [int(at) for at in chosen[kind].nonzero().flatten()]
