"""Leaks: how much of its weight each head of a layer gives to keys that it may not attend to."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viz_encoder.audit.measure.setting import MASS, TOLERANCE
from viz_encoder.audit.measure.slots import NO_SLOTS, Slots, keys_of, opened_in
from viz_encoder.audit.measure.softmaxes import RowSums, broken_rows
from viz_encoder.trace import LayerTrace
from viz_encoder.trace.attention_call import AttentionCall

UNIFORM = 1e-7  # weights of a row that differ by less are all the same
OpenedPairs = Bool[Tensor, "#batch #head #query key"]


@dataclass(frozen=True, eq=False)
class LayerLeaks:
    """One attention layer of one batch, compared with its intent at queries of real tokens."""

    largest: Float[Tensor, " head"]  # the largest weight of a query on a forbidden key
    share: Float[Tensor, " head"]  # mean share of a query's weight on forbidden keys
    lost: Int[Tensor, " head"]  # allowed pairs that the mask has closed
    place: tuple[int, int, int, int] | None  # head, sample, query, key of the largest; of the lost
    opened: OpenedPairs | None  # pairs the mask opened against the intent, if known
    weak: bool = False  # a number was added to the forbidden scores, which did not ban them
    short: RowSums | None = None  # rows of a softmax of the model's own that do not sum to 1
    open_slots: int = 0  # keys that hold no token and are open, and are no sink

    @property
    def leak(self) -> bool:
        """Whether any weight is more than rounding."""
        return bool((self.largest > MASS).any())


@dataclass(frozen=True, eq=False)
class LayerIntent:
    """Pairs that one layer may attend to in this batch."""

    allowed: Bool[Tensor, "batch query key"]
    valid: Bool[Tensor, "batch token"]

    @cached_property
    def forbidden(self) -> Bool[Tensor, "batch query key"]:
        """Pairs that must have no weight; a query that may attend to nothing is not judged."""
        return ~self.allowed & self.queries[:, :, None]

    @cached_property
    def pairs(self) -> Bool[Tensor, "batch query key"]:
        """Pairs that must be open."""
        return self.allowed & self.valid[:, :, None]

    @cached_property
    def queries(self) -> Bool[Tensor, "batch query"]:
        """Queries that are judged."""
        return self.valid & self.allowed.any(dim=-1)


class LeakFinder:
    """Holds layers against what is meant; a mask that comes again is compared once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[Tensor, Tensor, OpenedPairs, object]] = {}

    def find(self, ran: AttentionCall, meant: LayerIntent, slots: Slots = NO_SLOTS) -> LayerLeaks:
        """Weights are computed only of samples whose mask leaves a forbidden pair open.

        `slots` are those of the keys that hold no token.
        """
        n_heads = ran.q.shape[1]
        keys = slice(slots.first, slots.first + meant.valid.shape[1])
        largest, share = (torch.zeros(n_heads, device=ran.q.device) for _ in range(2))
        if ran.maps is None:
            leaking, lost, opened = self._by_mask(ran, meant, keys)
        else:
            leaking, lost, opened = self._by_maps(ran.maps[..., keys], meant)
        place, most = None, 0.0
        for sample in leaking.nonzero()[:, 0].tolist():
            for rows, weights in _blocks(ran, sample):
                over = (
                    weights[..., keys]
                    .masked_fill(~meant.forbidden[sample, rows], 0.0)
                    .nan_to_num(0.0)
                )
                share += over.sum(dim=(1, 2), dtype=torch.float32)
                tops = over.amax(dim=(1, 2)).float()
                largest = largest.maximum(tops)
                if float(tops.max()) > most:
                    most = float(tops.max())
                    head, query, key = _argmax(over)
                    place = (head, sample, rows.start + query, key)
        share /= meant.queries.sum().clamp_min(1)
        wrong = most > MASS or bool(lost.any())
        if place is None and wrong:
            sample, head, query, key = _argmax((meant.pairs[:, None] & ~opened).int())
            place = (head, sample, query, key)
        if ran.maps is not None and wrong:  # a row of scores all as low as they can be is uniform
            spread = ran.maps.amax(dim=-1, keepdim=True) - ran.maps.amin(dim=-1, keepdim=True)
            opened = (ran.maps[..., keys].nan_to_num(1.0) > MASS) & (spread > UNIFORM)
        weak = ran.bias is not None and most > MASS and _is_added(keys_of(ran.bias, keys), meant)
        kept = opened if wrong else None
        return LayerLeaks(
            largest,
            share,
            lost.expand(n_heads),
            place,
            kept,
            weak,
            _short(ran, meant),
            slots.n_open if slots.by_mistake else 0,
        )

    def _by_mask(
        self, ran: AttentionCall, meant: LayerIntent, keys: slice
    ) -> tuple[Tensor, Tensor, OpenedPairs]:
        """Samples with a forbidden pair open, how many allowed pairs are closed, what is open."""
        key = id(ran.mask), id(ran.bias), id(meant)
        if key not in self._known:
            opened = opened_in(ran, keys)
            leaking = (opened & meant.forbidden[:, None]).flatten(1).any(dim=1)
            closed = meant.pairs[:, None] & ~opened
            held = (ran.mask, ran.bias, meant)  # so that no other gets their numbers
            self._known[key] = leaking, closed.sum(dim=(0, 2, 3)), opened, held
        return self._known[key][:3]

    def _by_maps(self, maps: Tensor, meant: LayerIntent) -> tuple[Tensor, Tensor, OpenedPairs]:
        """For the model's own softmax: a key is closed if it has no weight at all.

        A single weight may be 0 because scores lie far apart; those of all queries and heads are
        not.
        """
        seen = ((maps != 0) & meant.queries[:, None, :, None]).any(dim=2).any(dim=1)
        opened = seen[:, None, None, :]
        closed = meant.pairs[:, None] & ~opened
        return meant.valid.any(dim=1), closed.sum(dim=(0, 2, 3)), opened


def _blocks(ran: AttentionCall, sample: int) -> Iterator[tuple[slice, Tensor]]:
    mask, bias, maps = (
        None if part is None else part[sample if part.shape[0] > 1 else 0]
        for part in (ran.mask, ran.bias, ran.maps)
    )
    q, k, v = ran.q[sample], ran.k[sample], ran.v[sample]
    layer = LayerTrace(q=q, k=k, v=v, scale=ran.scale, mask=mask, bias=bias, maps=maps)
    return layer.blocks(slice(None))


def _short(ran: AttentionCall, meant: LayerIntent) -> RowSums | None:
    """Row sums; None for a kernel, whose rows we would only compute ourselves."""
    if ran.maps is None:
        return None
    sums = ran.maps.sum(dim=-1, dtype=torch.float32)
    sums = sums if ran.sink is None else sums + ran.sink
    tolerance = max(TOLERANCE.get(x.dtype, 1e-5) for x in (ran.maps, ran.v))
    return broken_rows(sums, meant.queries, meant.allowed, tolerance)


def _is_added(bias: Tensor, meant: LayerIntent) -> bool:
    return bool(((bias != 0) & meant.forbidden[:, None]).any())


def _argmax(x: Tensor) -> tuple[int, ...]:
    return tuple(int(n) for n in torch.unravel_index(x.argmax(), x.shape))
