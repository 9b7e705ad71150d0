"""Neighborhoods of a graph's nodes, which follow no rule of places, and how they go wrong."""

from collections.abc import Iterator

import torch
from torch import Tensor

from viz_encoder.audit.diagnose.grids import by_distance
from viz_encoder.audit.diagnose.hypothesis import Hypothesis
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.model.masks import Valid


def wrong_graphs(pattern: Allowed, valid: Valid) -> Iterator[Hypothesis]:
    """What else the edges of these graphs could be."""
    if not all(_is_irregular(one) for one in pattern):
        return
    keys = valid[:, None, :]
    itself = torch.eye(pattern.shape[1], dtype=torch.bool, device=pattern.device)
    for code, pairs, more in _mistakes(pattern, itself):
        if not torch.equal(pairs & keys, pattern & keys):
            yield Hypothesis(code, pairs & keys, more, more)
            yield Hypothesis(code, (pairs & keys) | (itself & pattern), more, more)


def _mistakes(pattern: Allowed, itself: Tensor) -> Iterator[tuple[str, Allowed, str]]:
    if torch.equal(pattern, pattern.mT):
        for half in (pattern.tril(), pattern.triu()):
            yield "edges_one_way", half, ""
    else:
        yield "edges_both_ways", pattern | pattern.mT, ""
    yield "self_loops", pattern & ~itself, ": it is closed"
    yield "self_loops", pattern | itself, ": it is open"
    yield "hops", (pattern.float() @ pattern.float()) > 0, ""


def _is_irregular(pattern: Tensor) -> bool:
    """Whether it is neither made of distances nor of groups, nor of tokens that see all."""
    if bool((pattern.all(dim=0) | pattern.all(dim=1)).any()):
        return False
    linked = pattern.float() @ pattern.float() > 0
    return not (torch.equal(by_distance(pattern), pattern) or torch.equal(linked, pattern))
