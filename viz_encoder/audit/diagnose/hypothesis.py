"""What one layer had open on one batch, and a mask that it would have for one cause."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.diagnose.passed_mask import MaskReading
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.model.masks import Valid

Identity = tuple[str, str]  # the code of a cause, and its variant


class Hypothesis(NamedTuple):
    """One cause, and the mask it would produce."""

    code: str
    opened: Bool[Tensor, "batch *head query key"]  # one head's, if all are the same
    more: str = ""  # added to the cause's sentence
    variant: str = ""  # which one of those with this code; the same one must explain every batch

    @property
    def identity(self) -> Identity:
        """Identifies the same cause on another batch."""
        return self.code, self.variant


def wrong_groups(allowed: Allowed, valid: Valid) -> Iterator[Hypothesis]:
    """What goes wrong with such groups; nothing where the intent has none."""
    same = _same_group(allowed, valid)
    outside = allowed & ~same & valid[:, :, None]
    has_groups = int(same.sum()) > int(valid.sum())
    if not has_groups or not bool(outside.any()) or bool(outside.triu(1).any()):
        return
    place = torch.arange(allowed.shape[-1], device=allowed.device)
    apart = place[:, None] - place
    window = apart.abs() <= int(apart.expand_as(outside)[outside].max())
    each = (
        Hypothesis("group_window", allowed | same),
        Hypothesis("group_cut", allowed & window),
        *_of_prefix(allowed, valid, same),
    )
    yield from (one for one in each if not torch.equal(one.opened, allowed))


def _same_group(allowed: Allowed, valid: Valid) -> Allowed:
    """Real tokens of one group: each sees the one after it."""
    joined = allowed.diagonal(1, 1, 2) & valid[:, 1:] & valid[:, :-1]
    number = F.pad((~joined).cumsum(dim=1), (1, 0))
    return (number[:, :, None] == number[:, None, :]) & valid[:, :, None] & valid[:, None, :]


def _of_prefix(allowed: Allowed, valid: Valid, same: Allowed) -> Iterator[Hypothesis]:
    """The group of the first real token: its keys are opened to all, or its queries see all."""
    at = torch.arange(len(valid), device=valid.device)
    prefix = same[at, valid.long().argmax(dim=1)]
    for variant, columns in (
        ("", prefix),
        ("before", up_to_last(prefix)),
        ("types", prefix | ~valid),  # padding has the token type of a prefix, 0
    ):
        yield Hypothesis("prefix_opened", allowed | columns[:, None, :], "", variant)
    yield Hypothesis("prefix_rows", allowed | (prefix[:, :, None] & valid[:, None, :]))
    yield from _of_other_length(allowed, valid, prefix)


def _of_other_length(allowed: Allowed, valid: Valid, prefix: Tensor) -> Iterator[Hypothesis]:
    """The prefix, one token longer or shorter; where it is one token alone, it may be none."""
    causal = torch.ones_like(allowed).tril()
    outside = ~(prefix[:, :, None] & prefix[:, None, :])
    grown = prefix | (prefix.roll(1, dims=1) & valid)
    grown[:, 0] = prefix[:, 0]
    some = prefix.sum(dim=1, keepdim=True) > 1
    for longer in (grown, torch.where(some, grown, prefix)):
        opened = allowed | (longer[:, :, None] & longer[:, None, :])
        yield Hypothesis("prefix_length", opened, ": one token too long", "longer")
    shorter = prefix & prefix.roll(-1, dims=1)
    kept = outside | causal | (shorter[:, :, None] & shorter[:, None, :])
    yield Hypothesis("prefix_length", allowed & kept, ": one token too short", "shorter")


def up_to_last(tokens: Tensor) -> Tensor:
    """All places of the last axis up to the last of these tokens, padding before them, too."""
    return tokens.flip(-1).cumsum(dim=-1).flip(-1) > 0


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
