"""Row walk: iterates over a layer's maps in blocks of rows, reusing two buffers."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.model.attention import Buffers
from viz_encoder.trace.layer import LayerTrace, Rows

BLOCK_BYTES = 2**22  # weights per block; smaller blocks are dominated by call overhead
BLOCK_BYTES_GPU = 2**26


def budget_of(layer: LayerTrace, on_cpu: int, on_gpu: int) -> int:
    """Bytes that a block of this layer's weights may use."""
    return on_cpu if layer.q.device.type == "cpu" else on_gpu


@dataclass(eq=False)
class RowWalk:
    """Some heads of a layer; each block overwrites the previous one.

    `scores` are those of the last block; None if the maps were kept as they ran.
    """

    layer: LayerTrace
    heads: slice
    memory: tuple[Float[Tensor, " number"], Float[Tensor, " number"]]
    scores: Float[Tensor, "head query key"] | None = None

    def __post_init__(self) -> None:
        """Lay out the keys."""
        self._keys = None if self.layer.maps is not None else self.layer.keys_of(self.heads)

    def weights(self, rows: Rows) -> Float[Tensor, "head query key"]:
        """Read-only: kept maps are returned without a copy."""
        if self.layer.maps is not None:
            return self.layer.weights(self.heads, rows)
        n_rows = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        into = Buffers(*(self.block(at, n_rows) for at in (0, 1)))
        self.scores = into.scores
        return self.layer.weights(self.heads, rows, self._keys, into)

    def block(self, at: int, n_rows: int) -> Float[Tensor, "head query key"]:
        """One buffer, viewed as a block of n_rows rows."""
        shape = self.heads.stop - self.heads.start, n_rows, self.layer.k.shape[1]
        return self.memory[at][: shape[0] * shape[1] * shape[2]].view(shape)


def walks(layer: LayerTrace, most_rows: int, budget: int) -> Iterator[RowWalk]:
    """Iterate over all heads, as many at a time as fit with blocks of most_rows rows."""
    one = most_rows * layer.k.shape[1]
    step = max(1, min(layer.n_heads, budget // (4 * one)))
    device = layer.q.device
    memory = tuple(torch.empty(step * one, dtype=layer.wide, device=device) for _ in range(2))
    for start in range(0, layer.n_heads, step):
        heads = slice(start, min(start + step, layer.n_heads))
        yield RowWalk(layer, heads, (memory[0], memory[1]))
