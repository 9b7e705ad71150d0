"""ShownMap: rows of one (fused) map as shown, with tokens hidden, renormalized or merged."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.trace.head_rows import rows_at_once
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.trace.map_view import Head

Unit = tuple[int, ...]  # one token's index, or those of a word's subwords


@dataclass(frozen=True, eq=False)
class ShownMap:
    """One (fused) map over the shown tokens; a place is an index among them.

    As in `overview`: heads are fused, rows renormalized over what is shown, then each word's
    queries averaged and its keys summed.
    """

    layer: LayerTrace
    heads: list[int]
    head: Head
    shown: Sequence[Unit] = field(repr=False)
    renormalize: bool = False

    @property
    def fits(self) -> int:
        """Number of query rows held at a time."""
        return rows_at_once(self.layer.k.shape[1], self.layer.q.device)

    def part(
        self, queries: Int[np.ndarray, " query"], keys: Int[np.ndarray, " key"]
    ) -> Float[np.ndarray, "query key"]:
        """Full rows of these places, at these columns; NaN where the mask forbids every pair."""
        units = [self.shown[int(at)] for at in queries]
        tokens = torch.tensor([at for unit in units for at in unit], dtype=torch.int64)
        rows = torch.cat([self._by_token(piece) for piece in tokens.split(self.fits)])[:, keys]
        if len(tokens) == len(units):
            return rows.numpy()
        owners = torch.arange(len(units)).repeat_interleave(torch.tensor([*map(len, units)]))
        sums, seen = (torch.zeros(len(units), rows.shape[1]) for _ in range(2))
        sums.index_add_(0, owners, rows.nan_to_num(0.0))
        seen.index_add_(0, owners, (~rows.isnan()).float())
        counts = torch.tensor([*map(len, units)])[:, None]
        return (sums / counts).masked_fill(seen == 0, torch.nan).numpy()

    def _by_token(self, queries: Int[Tensor, " query"]) -> Float[Tensor, "query place"]:
        """Rows of single queries over all places."""
        weights = self._weights(queries)
        if len(self._kept) < weights.shape[1]:
            weights = weights[:, self._kept]
        if self.renormalize:
            sums = weights.nansum(dim=1, keepdim=True)
            weights = weights / sums.masked_fill(sums == 0, 1.0)
        if len(self._kept) == len(self.shown):
            return weights
        owners = torch.arange(len(self.shown)).repeat_interleave(
            torch.tensor([*map(len, self.shown)])
        )
        sums, seen = (torch.zeros(len(queries), len(self.shown)) for _ in range(2))
        sums.index_add_(1, owners, weights.nan_to_num(0.0))
        seen.index_add_(1, owners, (~weights.isnan()).float())
        return sums.masked_fill(seen == 0, torch.nan)

    def _weights(self, queries: Int[Tensor, " query"]) -> Float[Tensor, "query key"]:
        """Full rows on the CPU, NaN where the mask forbids the pair in every head."""
        layer, at = self.layer, queries.to(self.layer.q.device)
        # One head at a time: a block of all heads would be n_heads times as large.
        each = (layer.weights(slice(h, h + 1), at)[0].float() for h in self.heads)
        total = next(each)
        for weights in each:
            total = total.maximum(weights) if self.head == "max" else total + weights
        fused = total if self.head == "max" else total / len(self.heads)
        if layer.mask is not None:
            mask = layer.mask[self.heads] if layer.mask.shape[0] > 1 else layer.mask
            mask = mask[:, at] if mask.shape[1] > 1 else mask
            fused = fused.masked_fill(~mask.any(dim=0), torch.nan)
        return fused.cpu()

    @cached_property
    def _kept(self) -> Int[Tensor, " token"]:
        return torch.tensor([at for unit in self.shown for at in unit], dtype=torch.int64)
