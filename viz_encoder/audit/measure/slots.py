"""Slots: keys of an attention call that hold no token, such as a sink's or a block's filling."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.trace.attention_call import AttentionCall
from viz_encoder.trace.mask_parsing import NEVER

BLOCK = 8  # kernels and caches fill their keys up to a multiple of it
EVEN = 1e-5  # relative: weights of keys that are the same differ by rounding alone


class Slots(NamedTuple):
    """Positions of a call's tokens, and the other slots that some query may attend to."""

    first: int = 0  # the column of token 0
    n_open: int = 0  # closed ones are cut off
    by_mistake: bool = False  # block padding and not a sink, as far as one run can tell
    vary: bool = False  # they differ by sample, so they may be made of its tokens
    some: bool = False  # all the same, and open to some rows only: a sink is open to all
    among: bool = False  # they stood between the tokens, as no filling does


NO_SLOTS = Slots()


class _SlotSide(NamedTuple):
    """Evidence for slots on one side of the tokens."""

    first: int  # the column of token 0, if they stand there
    closed: bool
    open_to_all: bool
    zero: bool
    filled: bool  # zeros, or the last token again, or several that are all the same
    alike: bool  # in all samples

    @property
    def sink(self) -> bool:
        """Whether they may be one."""
        return self.open_to_all and self.alike


def of_tokens(
    ran: AttentionCall,
    meant: Bool[Tensor, "batch query key"],
    rows: Bool[Tensor, "batch query"],
    *,
    after: bool | None = None,
    surely: bool = False,
) -> tuple[AttentionCall, Slots] | None:
    """The call without closed slots, and what is left of them; None if it is not of these tokens.

    Slots stand after the tokens or before them, among the queries too. Closed ones are known by the
    mask; open ones are open to all, filled, or alike in all samples. What is meant decides between
    the two sides where nothing else does.

    Args:
        ran: a call of these samples, or of one that stands for all.
        meant: what queries may attend to, in some layer.
        rows: the queries that count: those of real tokens.
        after: whether the slots stand after the tokens, where that is known.
        surely: whether None is wanted where content and mask leave open on which side they stand.
    """
    (_, _, n_queries, n_keys), n_tokens = ran.shape, meant.shape[1]
    extra = n_keys - n_tokens
    if extra < 0 or n_queries not in (n_tokens, n_keys):
        return None
    if not extra:
        return ran, Slots()
    side, sure = _side(ran, 0 if after else extra, rows), True
    if after is None:
        side, sure = _chosen([_side(ran, 0, rows), side], ran, meant, rows)
        # More queries may be more tokens than were meant, and of a causal model closed to these.
        told = side.closed or side.open_to_all or side.alike
        if not side.filled and (n_queries != n_tokens or not told):
            return None
    if surely and not sure:
        return None
    ran = _with_queries(ran, side.first, n_tokens)
    if side.closed:
        return _with_keys(ran, slice(side.first, side.first + n_tokens)), Slots()
    # A single zero slot is also a sink; torch's own module adds one on request.
    several = side.filled and (extra > 1 or n_keys % BLOCK == 0)
    several = several and ran.kind != "multi_head_attention"
    some = side.filled and not side.open_to_all
    return ran, Slots(side.first, extra, several, not (side.zero or side.alike), some)


def _side(ran: AttentionCall, first: int, rows: Tensor) -> _SlotSide:
    n_tokens, n_keys = rows.shape[1], ran.shape[3]
    place = slice(0, first) if first else slice(n_tokens, n_keys)
    opened = opened_in(_with_queries(ran, first, n_tokens), place)
    judged, held = rows[:, None, :, None], _held(ran)
    closed, every = not bool((opened & judged).any()), bool((opened | ~judged).all())
    if held is None:
        filled = _are_even(ran, place, rows)
        return _SlotSide(first, closed, every, zero=False, filled=filled, alike=False)
    slots, last = held[:, :, place], held[:, :, n_tokens - 1 : n_tokens]
    zero = not bool(slots.any())
    same = slots.shape[2] > 1 and bool((slots == slots[:, :, :1]).all())
    again = not first and bool((slots == last).all())
    alike = len(held) > 1 and bool((slots == slots[:1]).all())
    return _SlotSide(first, closed, every, zero, zero or same or again, alike)


def _are_even(ran: AttentionCall, place: slice, rows: Tensor) -> bool:
    """Whether open slots of which only weights are known have the same in each row, so hold one."""
    if ran.maps is None or rows.shape != ran.maps.shape[::2]:
        return False
    weights = ran.maps[..., place].transpose(1, 2)[rows]
    opened = weights > 0
    several = opened.sum(dim=-1) > 1
    most, least = weights.amax(dim=-1), weights.masked_fill(~opened, torch.inf).amin(dim=-1)
    return bool(several.any()) and bool((most - least <= EVEN * most)[several].all())


def _chosen(
    sides: list[_SlotSide], ran: AttentionCall, meant: Tensor, rows: Tensor
) -> tuple[_SlotSide, bool]:
    """The side on which the slots are, and whether that is sure: content says it, else the mask."""
    after, before = sides
    filled, alike = (after, before) if before.alike else (before, after)
    if after.zero is not before.zero:
        return after if after.zero else before, True
    if after.alike is not before.alike and not filled.filled:
        return alike, not filled.closed  # what differs by sample is tokens
    if (after.closed and (before.closed or before.sink)) or (before.closed and after.sink):
        return min(sides, key=lambda one: _n_wrong(ran, one.first, meant, rows)), False
    if after.closed or before.closed:
        return after if after.closed else before, True
    chosen = max(sides, key=lambda one: (one.open_to_all, one.filled, one.alike))
    return chosen, chosen.filled or after.open_to_all is not before.open_to_all


def _n_wrong(ran: AttentionCall, first: int, meant: Tensor, rows: Tensor) -> int:
    """Number of pairs that violate the intent if the tokens begin at `first`."""
    n_tokens = meant.shape[1]
    opened = opened_in(_with_queries(ran, first, n_tokens), slice(first, first + n_tokens))
    return int(((opened ^ meant[:, None]) & rows[:, None, :, None]).sum())


def opened_in(
    ran: AttentionCall, place: slice = slice(None)
) -> Bool[Tensor, "#batch #head #query #slot"]:
    """Which queries may attend to those keys; by weights if nothing else is known."""
    if ran.maps is not None:
        return ran.maps[..., place].nan_to_num(1.0) > 0
    opened = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=ran.q.device)
    if ran.mask is not None:
        opened = opened & keys_of(ran.mask, place)
    return opened if ran.bias is None else opened & (keys_of(ran.bias, place) > NEVER)


def _held(ran: AttentionCall) -> Tensor | None:
    """Contents of the keys, "batch head key d"; for the model's own softmax, the values."""
    return next((x for x in (ran.k, ran.v) if x.shape[3] and x.shape[2] == ran.shape[3]), None)


def _with_queries(ran: AttentionCall, first: int, n_tokens: int) -> AttentionCall:
    """Without the queries that are slots, where there are such."""
    if ran.shape[2] == n_tokens:
        return ran
    rows, names = slice(first, first + n_tokens), ("q", "mask", "bias", "maps", "sink")
    return with_parts(ran, names, lambda part: rows_of(part, rows))._replace(signature=None)


def _with_keys(ran: AttentionCall, place: slice) -> AttentionCall:
    n_keys = ran.shape[3]
    ran = with_parts(ran, ("mask", "bias", "maps"), lambda part: keys_of(part, place))
    cut = lambda part: part[:, :, place] if part.shape[2] == n_keys else part  # noqa: E731
    return with_parts(ran, ("k", "v"), cut)


def with_parts(
    ran: AttentionCall, names: Iterable[str], change: Callable[[Tensor], Tensor]
) -> AttentionCall:
    """The call with those of its tensors changed that it has."""
    held = {name: part for name in names if (part := getattr(ran, name)) is not None}
    changed: dict[str, Any] = {name: change(part) for name, part in held.items()}
    return ran._replace(**changed)


def rows_of(part: Tensor, rows: slice) -> Tensor:
    """Select rows of a "… #query key" tensor."""
    return part[:, :, rows] if part.shape[2] > 1 else part


def keys_of(part: Tensor, place: slice) -> Tensor:
    """Select keys of a "… #key" tensor."""
    return part if part.shape[3] == 1 else part[..., place]
