"""What one layer had open on one batch, and a mask that it would have for one cause."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from viz_encoder.audit.diagnose.passed_mask import MaskReading
from viz_encoder.audit.measure.reach import Allowed, must_know
from viz_encoder.model.masks import Valid

Identity = tuple[str, str]  # the code of a cause, and its variant


class Hypothesis(NamedTuple):
    """One cause, and the mask it would produce; axes in front may be missing or 1."""

    code: str
    opened: Bool[Tensor, "*batch_and_head query key"]
    more: str = ""  # added to the cause's sentence
    variant: str | None = None  # which one of this code explains every batch; by `more` if None

    @property
    def identity(self) -> Identity:
        """Identifies the same cause on another batch."""
        return self.code, self.more if self.variant is None else self.variant

    def within(self, keys: Tensor) -> "Hypothesis":
        """The same with other keys closed."""
        return self._replace(opened=self.opened.to(keys.device) & keys)


class Meant(NamedTuple):
    """What was to be open on one batch, and what follows from it."""

    allowed: Allowed
    pattern: Allowed  # the intent without any padding
    valid: Valid
    keys: Bool[Tensor, "batch 1 key"]  # the real ones
    masked: Bool[Tensor, "batch 1 key"]  # the same; all of them if the intent masks no padding
    place: Int[Tensor, " token"]
    ahead: Int[Tensor, "query key"]  # how far the key is from the query
    numbers: Int[Tensor, "batch token"]  # the document of each token, by the pattern

    @property
    def itself(self) -> Bool[Tensor, "query key"]:
        """Each token alone."""
        return self.ahead == 0

    @property
    def causal(self) -> Bool[Tensor, "query key"]:
        """Each token and those before it."""
        return self.ahead <= 0

    @property
    def is_shared(self) -> bool:
        """Whether all samples have the same pattern."""
        return bool((self.pattern == self.pattern[:1]).all())

    @property
    def has_documents(self) -> bool:
        """Whether tokens fall into blocks that no other token may look into."""
        return int(self.numbers.max()) > 0


def meant_of(allowed: Allowed, pattern: Allowed, valid: Valid) -> Meant:
    """What follows from an intent."""
    keys, place = valid[:, None, :], torch.arange(allowed.shape[-1], device=allowed.device)
    masked = torch.ones_like(keys) if torch.equal(allowed, pattern) else keys
    return Meant(
        allowed, pattern, valid, keys, masked, place, place - place[:, None], numbers_of(pattern)
    )


def numbers_of(pairs: Allowed) -> Int[Tensor, "batch token"]:
    """The document of each token: no pair leads from one into another."""
    n_tokens = pairs.shape[-1]
    where = torch.arange(n_tokens, device=pairs.device)
    linked = pairs | pairs.mT | (where[:, None] == where)
    farthest = (linked * where).amax(dim=-1).cummax(dim=-1).values
    begins = torch.zeros_like(farthest)
    begins[:, 1:] = farthest[:, :-1] < where[1:]
    return begins.cumsum(dim=-1)


def same(numbers: Int[Tensor, "*batch token"]) -> Bool[Tensor, "*batch query key"]:
    """Pairs of tokens that have the same number."""
    return numbers[..., :, None] == numbers[..., None, :]


def up_to_last(tokens: Tensor) -> Tensor:
    """All places of the last axis up to the last of these tokens, padding before them, too."""
    return tokens.flip(-1).cumsum(dim=-1).flip(-1) > 0


FEW = 4  # queries that refute most causes
Opened = Bool[Tensor, "batch head query key"]


@dataclass(frozen=True, eq=False)
class LayerOnBatch:
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
    def is_right(self) -> bool:
        """Whether it is as it is meant to be."""
        return self.is_open_as(self.allowed[:, None])

    @cached_property
    def rows(self) -> Bool[Tensor, "batch query"]:
        """Real tokens that may attend to anything."""
        return self.valid & self.allowed.any(dim=-1)

    @cached_property
    def few(self) -> Int[Tensor, " query"]:
        """A few queries that are such tokens."""
        return self.rows.any(dim=0).nonzero()[:, 0][:: max(1, self.rows.shape[1] // FEW)]

    @cached_property
    def others(self) -> Bool[Tensor, "query key"]:
        """Pairs of two tokens."""
        n_tokens = self.opened.shape[-1]
        return ~torch.eye(n_tokens, dtype=torch.bool, device=self.opened.device)

    @cached_property
    def wrong(self) -> Opened:
        """Pairs of real queries that are not as they are meant to be."""
        return (self.opened ^ self.meant[:, None]) & self.rows[:, None, :, None]

    def residual(self, pairs: Tensor) -> Tensor:
        """Add each token itself, if the observation includes the residual."""
        return pairs | ~self.others if self.with_itself else pairs

    def is_open_as(self, pairs: Tensor) -> bool:
        """Whether its rows agree with these in every head.

        A row without keys agrees with all that kernels and guards make of one: it is closed, or
        holds itself only, or all real tokens.
        """
        pairs = pairs.expand_as(self.opened)
        first = self._agree(pairs, self.few)  # most are refuted by them
        return first and self._agree(pairs, slice(None)) and self._has_keys(pairs)

    def _agree(self, pairs: Tensor, queries: Any) -> bool:
        opened, keys = self.opened[:, :, queries], pairs.any(dim=-1)[:, :, queries]
        apart = opened ^ self.residual(pairs)[:, :, queries]
        closed = ~(opened & self.others[queries]).any(dim=-1)
        whole = (opened | ~self.valid[:, None, None]).all(dim=-1)
        judged = self.rows[:, None, queries] & (keys | ~(closed | whole))
        return not bool((apart & judged[..., None]).any())

    def _has_keys(self, pairs: Tensor) -> bool:
        """Whether any real row has keys."""
        return bool((self.rows[:, None] & pairs.any(dim=-1)).any())


class Reached(NamedTuple):
    """Dependencies after all layers, on one batch."""

    depends: Bool[Tensor, "batch query key"]
    allowed: Allowed
    pattern: Allowed
    valid: Bool[Tensor, "batch token"]
    n_layers: int
    layers: tuple[Allowed, ...] = ()
    with_itself: bool = True

    @property
    def is_right(self) -> bool:
        """Whether they are those of the intent."""
        return self.is_open_as(self.allowed[:, None])

    def is_open_as(self, pairs: Tensor) -> bool:
        """Whether a mask gives these dependencies on the rows that are judged."""
        rows, opened = self.valid & self.allowed.any(dim=-1), pairs[:, 0]
        if bool((opened & ~self.depends)[rows].any()):
            return False
        return torch.equal(must_know([opened], self.n_layers)[rows], self.depends[rows])
