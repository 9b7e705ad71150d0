"""Parses a model's attn_mask into the form we keep: a bool mask (True = may attend) and a bias."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.model.masks import Mask
from viz_encoder.trace.callers_state import same_bits

NEVER = -1e4  # a score this low has weight 0 next to any other: exp(-10,000)
REMEMBERED = 16

Bias = Float[Tensor, "#batch #head #query #key"]


class SplitMask(NamedTuple):
    """A mask and a bias that together act on the scores as the given tensor did."""

    mask: Mask | None = None
    bias: Bias | None = None


class GivenMasks:
    """Parses masks, and keeps one copy of those that recur in every layer.

    A dense mask is O(T²), as large as a map, so equal tensors are kept only once, and the causal
    flag costs one triangle per recording.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[Any, ...], tuple[Tensor, int, SplitMask]] = {}
        self._kept: list[Tensor] = []
        self._causal: dict[tuple[int, int, torch.device], SplitMask] = {}

    def causal(self, n_queries: int, n_keys: int, device: torch.device) -> SplitMask:
        """The mask of is_causal=True: query i may attend to keys 0 … i."""
        key = (n_queries, n_keys, device)
        if key not in self._causal:
            triangle = torch.ones(n_queries, n_keys, dtype=torch.bool, device=device).tril()
            self._causal[key] = SplitMask(mask=triangle[None, None])
        return self._causal[key]

    def split(self, given: Tensor | None, n_axes: int = 4) -> SplitMask:
        """Split `given`, whose queries and keys have n_axes axes, into a mask and a bias."""
        if given is None:
            return SplitMask()
        key = (n_axes, given.data_ptr(), given.shape, given.stride(), given.dtype, given.device)
        version = -1 if given.is_inference() else given._version
        seen = self._seen.get(key)
        if seen is not None and seen[1] == version >= 0:
            return seen[2]
        split = SplitMask(
            *(self._share(part) for part in _split(_four_axes(given.detach(), n_axes)))
        )
        self._seen[key] = (given, version, split)  # held so that its address is not reused
        if len(self._seen) > REMEMBERED:
            self._seen.pop(next(iter(self._seen)))
        return split

    def made(self, given: Tensor | None) -> SplitMask:
        """Split a newly created 4-D mask without copying it; there is no other reference to it."""
        if given is None:
            return SplitMask()
        return SplitMask(*(self._share(part, own=True) for part in _split(given)))

    def _share(self, part: Tensor | None, own: bool = False) -> Tensor | None:
        if part is None:
            return None
        for kept in self._kept[-REMEMBERED:]:
            if same_bits(kept, part):
                return kept
        self._kept.append(part if own else part.clone(memory_format=torch.contiguous_format))
        return self._kept[-1]


def _four_axes(given: Tensor, n_axes: int) -> Tensor:
    """Reshape to "#batch #head #query #key"; expanded axes shrink back to one entry.

    Axes folded into the batch stay expanded, because the batch counts all their entries.
    """
    folded = given.ndim - 3 if given.ndim > 4 else 0
    for axis in range(folded, given.ndim):
        if given.stride(axis) == 0 and given.shape[axis] > 1:
            given = given.narrow(axis, 0, 1)
    if n_axes == 3 and given.ndim == 3:
        return given[:, None]
    while given.ndim < 4:
        given = given[None]
    return given.flatten(0, given.ndim - 4)


def _split(given: Tensor) -> SplitMask:
    if given.dtype == torch.bool:
        return SplitMask(mask=None if bool(given.all()) else given)
    allowed = given > NEVER
    # A row closed entirely by finite numbers still attends, so its numbers are kept as a bias.
    mask = torch.where(allowed.any(dim=-1, keepdim=True), allowed, given != -torch.inf)
    bias = given.masked_fill(~mask, 0.0)
    return SplitMask(
        mask=None if bool(mask.all()) else mask, bias=bias if bool(bias.any()) else None
    )
