"""Tokens of a grid, such as a picture or frames, and what goes wrong with them in one row."""

from collections.abc import Iterator

import torch
from torch import Tensor

from viz_encoder.audit.diagnose.hypothesis import Hypothesis
from viz_encoder.audit.measure.reach import Allowed

FEWEST = 2  # groups, and tokens in each


def wrong_grids(pattern: Allowed) -> Iterator[Hypothesis]:
    """What else this pattern could be, of which queries and keys are the same tokens in order.

    "query key" for all samples.
    """
    if not torch.equal(pattern, pattern.mT) or not bool(pattern.diagonal().all()):
        return
    near = by_distance(pattern)
    if not (bool(near.all()) or torch.equal(near, pattern)):
        yield Hypothesis("by_distance", near)
    size = int(pattern[0].sum())
    for folded in _folded(len(pattern), size):
        if not torch.equal(folded, pattern) and _is_permuted(pattern, size):
            yield Hypothesis("folded", folded, f": {size} at a time")


def by_distance(pattern: Tensor) -> Tensor:
    """Every pair that is as far apart, and in that direction, as any that is open."""
    n_tokens = len(pattern)
    place = torch.arange(n_tokens, device=pattern.device)
    ahead = place - place[:, None] + n_tokens
    taken = torch.zeros(2 * n_tokens, dtype=torch.bool, device=pattern.device)
    taken[ahead[pattern]] = True
    return taken[ahead]


def _folded(n_tokens: int, size: int) -> Iterator[Tensor]:
    """Groups of so many tokens: neighbors, or each so many tokens apart."""
    if n_tokens % size or size < FEWEST or n_tokens // size < FEWEST:
        return
    place = torch.arange(n_tokens)
    for number in (place // size, place % (n_tokens // size)):
        yield number[:, None] == number


def _is_permuted(pattern: Tensor, size: int) -> bool:
    """Whether it consists of groups of so many tokens that see all of themselves, and no more."""
    linked = pattern.float() @ pattern.float() > 0
    return torch.equal(linked, pattern) and bool((pattern.sum(dim=1) == size).all())
