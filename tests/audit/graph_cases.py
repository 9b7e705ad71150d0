"""Neighborhoods of a graph, and blocks such as frames: bugs with the cause of each, and mended."""

import torch
from torch import Tensor

from tests.audit.branch_cases import Branch, Pairs, branches
from tests.audit.cause_cases import CauseCase


def itself(n_tokens: int) -> Tensor:
    return torch.eye(n_tokens, dtype=torch.bool)


def directed(n_tokens: int) -> Tensor:
    """Each node sees itself and some others."""
    drawn = torch.rand(n_tokens, n_tokens, generator=torch.Generator().manual_seed(n_tokens))
    return (drawn < 2 / n_tokens) | itself(n_tokens).roll(2, 0) | itself(n_tokens)


def undirected(n_tokens: int) -> Tensor:
    return directed(n_tokens) | directed(n_tokens).mT


def squared(n_tokens: int) -> Tensor:
    return (undirected(n_tokens).float() @ undirected(n_tokens).float()) > 0


def frames(*others: int, first: bool = False) -> Pairs:
    """Frames of so many tokens see the frames so many before them, and perhaps the first one."""

    def pairs(n_tokens: int) -> Tensor:
        size = next(n for n in (3, 7, 2, 1) if n_tokens % n == 0)
        number = torch.arange(n_tokens) // size
        before = (number[:, None, None] - torch.tensor(others)).clamp(min=0)
        seen = (number[None, :, None] == before).any(dim=2)
        return seen | (number == 0) if first else seen

    return pairs


def halved(n_tokens: int) -> Tensor:
    """Each edge in one direction, drawn."""
    first = torch.randperm(n_tokens, generator=torch.Generator().manual_seed(1))
    later = first[:, None] > first
    return (undirected(n_tokens) & later) | itself(n_tokens)


def with_front(n_tokens: int) -> Tensor:
    """A node in front of the others, linked to the first of them."""
    keep = itself(n_tokens)
    keep[1:, 1:] = undirected(n_tokens - 1)
    keep[0, 1] = keep[1, 0] = True
    return keep


BUGS: tuple[Branch, ...] = (
    ("edges stored once", undirected, lambda n: undirected(n).triu(), ("edges_one_way",)),
    ("edges in a drawn direction", undirected, halved, ("edges_one_way",)),
    ("edges both ways", directed, undirected, ("edges_both_ways",)),
    ("source and target exchanged", directed, lambda n: directed(n).mT, ("transposed",)),
    ("no self loops", undirected, lambda n: undirected(n) & ~itself(n), ("self_loops",)),
    ("two hops", undirected, squared, ("hops",)),
    (
        "a node put in front of its graph",
        with_front,
        lambda n: with_front(n).roll((-1, -1), dims=(0, 1)),
        ("pattern_moved",),
    ),
    ("its own frame for the one before", frames(1, first=True), frames(0, first=True), ("frames",)),
)


def cases(mended: bool = False) -> list[CauseCase]:
    """Each bug on each kernel, wrong or mended."""
    return branches(BUGS, mended)
