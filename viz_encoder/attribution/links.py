"""Links: what each attention weight carried of a score, some rows at a time."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from torch import Tensor

from viz_encoder.trace.layer import LayerTrace, Rows

Links = Float[Tensor, "head query key"]


class Link(NamedTuple):
    """What one head brought from a key to a query."""

    layer: int
    head: int
    query: int
    key: int
    share: float


def links_of(
    ran: LayerTrace, gradients: Float[Tensor, "head query d_value"], heads: slice, rows: Rows
) -> Links:
    """Weight × ⟨gradient at the head's output, value⟩, on the device of the run."""
    weights = ran.weights(heads, rows)
    values = ran.values_of(heads).to(weights)
    return weights * (gradients[heads][:, rows].to(weights) @ values.mT)


def strongest_of(layers: Iterable[Iterator[tuple[slice, Links]]], n: int) -> tuple[Link, ...]:
    """The n links that carried most, whatever the sign, of all layers' blocks of rows."""
    found: list[Link] = []
    for layer, blocks in enumerate(layers):
        for rows, links in blocks:
            flat = links.flatten()
            at = flat.abs().topk(min(n, len(flat))).indices
            places = np.unravel_index(at.numpy(), links.shape)
            for head, query, key, share in zip(*places, flat[at].tolist(), strict=True):
                found.append(Link(layer, int(head), rows.start + int(query), int(key), share))
        found = sorted(found, key=lambda link: -abs(link.share))[:n]
    return tuple(found)
