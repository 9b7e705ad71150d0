"""Row walk: goes through a layer's maps in blocks of heads and rows, reusing two buffers."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from viz_encoder.model.attention import Buffers
from viz_encoder.trace import head_rows
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
    most_rows: int
    memory: tuple[Float[Tensor, " number"], Float[Tensor, " number"]]
    span: int = 0
    scores: Float[Tensor, "head query key"] | None = None
    _whole: Float[Tensor, "head query key"] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Lay out the keys; a walk that reads bands of one block is quicker without."""
        in_one = self.span > 0 and self.most_rows >= self.layer.q.shape[1]
        laid_out = self.layer.maps is None and not in_one
        self._keys = self.layer.keys_of(self.heads) if laid_out else None

    def blocks(self) -> Iterator[tuple[slice, Float[Tensor, "head query key"]]]:
        """All rows in order; where they are one block, it is computed once."""
        n_rows = self.layer.q.shape[1]
        if self.most_rows >= n_rows:
            self._whole = self.weights(slice(0, n_rows)) if self._whole is None else self._whole
            yield slice(0, n_rows), self._whole
            return
        for rows in head_rows.blocks_of(n_rows, self.most_rows):
            yield rows, self.weights(rows)

    def weights(self, rows: Rows) -> Float[Tensor, "head query key"]:
        """Read-only: kept maps are returned without a copy, unless they are read by bands."""
        n_rows = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        if self.layer.maps is not None:
            kept = self.layer.weights(self.heads, rows)
            return self.block(1, n_rows).copy_(kept) if self.span else kept
        into = Buffers(*(self.block(at, n_rows) for at in (0, 1)))
        self.scores = into.scores
        return self.layer.weights(self.heads, rows, self._keys, into)

    def block(self, at: int, n_rows: int) -> Float[Tensor, "head query key"]:
        """One buffer, viewed as a block of n_rows rows."""
        shape = self.heads.stop - self.heads.start, n_rows, self.layer.k.shape[1]
        n_cells = shape[0] * shape[1] * shape[2]
        return self.memory[at][self.span :][:n_cells].view(shape)

    def band_sums(
        self, rows: slice, pairs: Float[Tensor, "#head query band"]
    ) -> Float[Tensor, "head band"]:
        """Sums over the last block's queries of the weight at each offset −span … span.

        They are read in place, for the weight at an offset lies so many places on. Where a row has
        no such key, what lies beside it is read; `pairs` (see `pairs_at`) is 0 there.
        """
        n_rows, n_keys = rows.stop - rows.start, self.layer.k.shape[1]
        n_heads = self.heads.stop - self.heads.start
        bands = self.memory[1].as_strided(
            (n_heads, n_rows, 2 * self.span + 1),
            (n_rows * n_keys, n_keys + 1, 1),
            self.memory[1].storage_offset() + rows.start,
        )
        found = (bands * pairs).sum(dim=1)
        if bool(found.isnan().any()):  # NaN of another head or text, times 0, is NaN
            found = bands.where(pairs > 0, 0.0).sum(dim=1)
        return found


def walks(layer: LayerTrace, most_rows: int, budget: int, span: int = 0) -> Iterator[RowWalk]:
    """Iterate over all heads, as many at a time as fit with blocks of most_rows rows.

    span: how far from the query `band_sums` reach, where keys are the queries' own tokens.
    """
    one = most_rows * layer.k.shape[1]
    step = max(1, min(layer.n_heads, budget // (4 * one)))
    memory = torch.zeros(2, step * one + 2 * span, dtype=layer.wide, device=layer.q.device)
    for heads in head_rows.blocks_of(layer.n_heads, step):
        yield RowWalk(layer, heads, most_rows, (memory[0], memory[1]), span)


def head_walks(layer: LayerTrace, span: int = 0) -> Iterator[RowWalk]:
    """`walks` within the processor's cache: for sums that go over a block several times."""
    fits = head_rows.rows_at_once(layer.k.shape[1], layer.q.device)
    budget = budget_of(layer, head_rows.BLOCK_BYTES, head_rows.BLOCK_BYTES_GPU)
    return walks(layer, min(layer.q.shape[1], fits), budget, span)


def pairs_at(real: Float[Tensor, "#head token"], span: int) -> Float[Tensor, "#head token band"]:
    """1 where a real query has a real token at each of the offsets −span … span."""
    return real[:, :, None] * F.pad(real, (span, span)).unfold(1, 2 * span + 1, 1)
