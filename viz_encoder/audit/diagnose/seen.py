"""LayerOnBatch: what one layer had open on one batch, beside what it was meant to have."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.diagnose.passed_mask import MaskReading
from viz_encoder.audit.measure.reach import Allowed

FEW = 4  # queries that refute most causes
Opened = Bool[Tensor, "batch head query key"]


class LayerOnBatch(NamedTuple):
    """One layer on one batch."""

    opened: Opened
    allowed: Allowed
    pattern: Allowed  # the intent without padding
    valid: Bool[Tensor, "batch token"]
    with_itself: bool = False  # each token knows of itself, too, by the residual
    passed: tuple[MaskReading, ...] = ()  # the passed masks, in each reading
    layers: tuple[Allowed, ...] = ()  # what each layer was to have open, if they differ

    @property
    def meant(self) -> Allowed:
        """The intended mask."""
        return self.residual(self.allowed)

    @property
    def rows(self) -> Bool[Tensor, "batch query"]:
        """Real tokens that may attend to anything."""
        return self.valid & self.allowed.any(dim=-1)

    @property
    def wrong(self) -> Opened:
        """Pairs of real queries that are not as they are meant to be."""
        return (self.opened ^ self.meant[:, None]) & self.rows[:, None, :, None]

    def residual(self, pairs: Tensor) -> Tensor:
        """Add each token itself, if the observation includes the residual."""
        itself = torch.eye(pairs.shape[-1], dtype=torch.bool, device=pairs.device)
        return pairs | itself if self.with_itself else pairs

    def is_open_as(self, pairs: Tensor) -> bool:
        """Whether its rows agree with these in every head.

        A row without keys agrees with all that kernels and guards make of one: it is closed, or
        holds itself only, or all real tokens.
        """
        pairs = pairs.expand_as(self.opened)
        some = self.rows.any(dim=0).nonzero()[:, 0][:: max(1, self.rows.shape[1] // FEW)]
        first = self._agree(pairs, some)  # most are refuted by a few queries
        return first and self._agree(pairs, slice(None)) and self._has_keys(pairs)

    def _agree(self, pairs: Tensor, queries: Any) -> bool:
        opened, keys = self.opened[:, :, queries], pairs.any(dim=-1)[:, :, queries]
        apart = opened ^ self.residual(pairs)[:, :, queries]
        others = ~torch.eye(pairs.shape[-1], dtype=torch.bool, device=pairs.device)[queries]
        closed = ~(opened & others).any(dim=-1)
        whole = (opened | ~self.valid[:, None, None]).all(dim=-1)
        judged = self.rows[:, None, queries] & (keys | ~(closed | whole))
        return not bool((apart & judged[..., None]).any())

    def _has_keys(self, pairs: Tensor) -> bool:
        """Whether any real row has keys."""
        return bool((self.rows[:, None] & pairs.any(dim=-1)).any())
