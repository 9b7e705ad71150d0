"""Side by side: joins equally sized layers, of one or more runs, as the heads of a single layer.

A sweep makes as many calls for one head as for a hundred, so short runs are swept together.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from viz_encoder.trace.layer import TENSORS, LayerTrace

# The input to W_O is not part of a map, and a signature belongs to one call.
PARTS = tuple(part for part in TENSORS if part not in ("signature", "put"))
SHARED = ("mask", "bias")  # may have one entry for all heads


def alike(layers: Sequence[LayerTrace], budget: int) -> Iterator[list[int]]:
    """Group layers that can be joined, within `budget` bytes of weights."""
    groups: dict[object, list[int]] = defaultdict(list)
    for number, layer in enumerate(layers):
        groups[_sizes(layer)].append(number)
    for group in groups.values():
        first = layers[group[0]]
        n_bytes = first.n_heads * first.q.shape[1] * first.k.shape[1] * first.wide.itemsize
        step = max(1, budget // max(1, n_bytes))
        yield from (group[start : start + step] for start in range(0, len(group), step))


def side_by_side(layers: Sequence[LayerTrace]) -> LayerTrace:
    """Join the heads of all layers, in order, into one layer, which never ran as one call."""
    if len(layers) == 1:
        return layers[0]
    parts: dict[str, Any] = {
        name: _joined([getattr(one, name) for one in layers], layers, name) for name in PARTS
    }
    return replace(layers[0], **parts, signature=None, put=None, name="")


def _sizes(layer: LayerTrace) -> object:
    """What joined layers must share; heads that share a mask are told apart only by index."""
    parts = [getattr(layer, name) for name in PARTS]
    sizes = [
        None if x is None else (x.shape[name in SHARED :], x.dtype, x.device)
        for name, x in zip(PARTS, parts, strict=True)
    ]
    return layer.n_heads, layer.scale, layer.cross, *sizes


def _joined(parts: list[Tensor | None], layers: Sequence[LayerTrace], name: str) -> Tensor | None:
    held = [part for part in parts if part is not None]
    if not held:
        return None
    if name in SHARED:
        if len(held[0]) == 1 and len({_memory(x) for x in held}) == 1:
            return held[0]
        held = [x.expand(one.n_heads, -1, -1) for x, one in zip(held, layers, strict=True)]
    return torch.cat(held)


def _memory(x: Tensor) -> object:
    return x.data_ptr(), x.shape, x.stride()
