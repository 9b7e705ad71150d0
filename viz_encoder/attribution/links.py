"""Links: what each attention weight carried of a score, some rows at a time."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import Most, public, read_index
from viz_encoder.attribution.held import BLOCK_BYTES
from viz_encoder.trace.head_rows import row_blocks
from viz_encoder.trace.layer import LayerTrace, Rows
from viz_encoder.trace.trace import forward_rows

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


class WithLinks:
    """A score split over links: what a result with heads offers of them, computed on demand."""

    @public
    def links(
        self, layer: int, head: int | None = None, rows: slice | None = None
    ) -> Float[np.ndarray, "*head query key"]:
        """What each link carried: weight × ⟨gradient at the head's output, value⟩.

        Computed from queries, keys, values and gradients. A head's links add up to its share.

        Args:
            layer: counted from 0.
            head: one head, counted from 0; all if not given.
            rows: which queries, as a forward slice; all if not given.

        Returns:
            "head query key", or "query key" for one head.

        Raises:
            SelectionError: no such layer or head, no attention was seen, or through="attention",
                whose links are not of this form.
            TraceError: the links of a query do not add up to what its head brought.
        """
        layers = self._layers()
        layer = read_index("layer", layer, len(layers))
        n_heads, _, _ = layers[layer]
        at = None if head is None else read_index("head", head, n_heads)
        chosen = slice(0, n_heads) if at is None else slice(at, at + 1)
        found = self._links(layer, chosen, forward_rows(rows)).numpy()
        return found if at is None else found[0]

    @public
    def strongest(self, n: Most = 10) -> tuple[Link, ...]:
        """The n links that carried most, whatever the sign, over all heads.

        Every map is looked through, some rows at a time.
        """
        found: list[Link] = []
        for layer in range(len(self._layers())):
            for rows, links in self._blocks(layer):
                flat = links.flatten()
                at = flat.abs().topk(min(n, len(flat))).indices
                places = np.unravel_index(at.numpy(), links.shape)
                for head, query, key, share in zip(*places, flat[at].tolist(), strict=True):
                    found.append(Link(layer, int(head), rows.start + int(query), int(key), share))
            found = sorted(found, key=lambda link: -abs(link.share))[:n]
        return tuple(found)

    def _blocks(self, layer: int) -> Iterator[tuple[slice, Links]]:
        n_heads, n_queries, n_keys = self._layers()[layer]
        for rows in row_blocks(n_queries, n_heads * n_keys, BLOCK_BYTES):
            yield rows, self._links(layer, slice(0, n_heads), rows)

    def _layers(self) -> Sequence[tuple[int, int, int]]:
        """Heads, queries and keys of each layer.

        Raises:
            SelectionError: links cannot be shown.
        """
        raise NotImplementedError

    def _links(self, layer: int, heads: slice, rows: slice) -> Links:
        raise NotImplementedError
