"""The pattern of a batch of one's own: what is meant without its padding, as far as it tells."""

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.measure.reach import Allowed


def pattern_in(allowed: Allowed, valid: Bool[Tensor, "batch token"]) -> Allowed:
    """The one pattern that all samples have, each cut to its real keys; else what is meant itself.

    A pair that is real in no sample is as others of the same distance are, or of the nearest one.
    """
    both = valid[:, :, None] & valid[:, None, :]
    known, opened = both.any(dim=0), (allowed & both).any(dim=0)
    found = torch.where(known, opened, _by_distance(known, opened))
    rows = valid & allowed.any(dim=-1)
    if not torch.equal((found & valid[:, None, :])[rows], allowed[rows]):
        return allowed
    return found.expand_as(allowed)


def _by_distance(known: Tensor, opened: Tensor) -> Bool[Tensor, "query key"]:
    """For each pair whether all known ones that are as far apart are open."""
    n_tokens = len(known)
    ahead = [_at(known, opened, step) for step in range(n_tokens)]
    back = [_at(known, opened, -step) for step in range(n_tokens)]
    found = torch.zeros_like(known)
    for sign, steps in ((1, ahead), (-1, back)):
        last = False
        for step, value in enumerate(steps):
            last = last if value is None else value
            found.diagonal(sign * step).fill_(last)
    return found


def _at(known: Tensor, opened: Tensor, step: int) -> bool | None:
    seen = known.diagonal(step)
    return bool(opened.diagonal(step)[seen].all()) if bool(seen.any()) else None
