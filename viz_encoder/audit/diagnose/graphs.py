"""Neighborhoods of a graph's nodes, which follow no rule of places, and how they go wrong."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from viz_encoder.audit.answer import Diagnosis
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.grids import by_distance
from viz_encoder.audit.diagnose.hypothesis import Hypothesis
from viz_encoder.audit.diagnose.seen import LayerOnBatch
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


def one_direction(seen: Sequence[LayerOnBatch]) -> Diagnosis | None:
    """Each edge of graphs without directions is open in one of them, whichever it is."""
    wrong = [one for one in seen if bool(one.wrong.any())]
    return diagnose("edges_one_way") if all(map(_is_halved, wrong)) else None


def _is_halved(seen: LayerOnBatch) -> bool:
    itself = torch.eye(seen.valid.shape[1], dtype=torch.bool, device=seen.valid.device)
    real = seen.rows[:, :, None] & seen.rows[:, None, :]
    edges = seen.allowed & real & ~itself
    opened = (seen.opened & edges[:, None]).any(dim=1)
    alike = bool((seen.opened == seen.opened[:, :1]).all()) and torch.equal(edges, edges.mT)
    only_missing = not bool((seen.wrong & (seen.opened | itself)).any())
    return alike and only_missing and torch.equal(opened ^ opened.mT, edges)
