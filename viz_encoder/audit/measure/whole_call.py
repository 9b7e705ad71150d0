"""WholeCall: one attention call of a whole batch, filled piece by piece, token by token."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from viz_encoder.audit.measure.slots import opened_in
from viz_encoder.trace.attention_call import AttentionCall

OTHER = -3  # in place of a token: it is of another sample
SlotTokens = Int[Tensor, " slot"]


@dataclass(frozen=True, eq=False)
class Piece:
    """One sample's part in one row of a call's batch."""

    ran: AttentionCall
    row: int
    sample: int
    queries: SlotTokens  # the token in each slot; a number below 0 where it holds none
    keys: SlotTokens
    group: int = 0  # which of the sample's heads, where they are folded into the batch


class WholeCall:
    """Pairs that no piece opens are closed; keys without a token follow the tokens."""

    def __init__(
        self,
        like: AttentionCall,
        judged: Bool[Tensor, "batch query"],
        shape: tuple[int, int, int, int],
    ) -> None:
        """The shape is samples, groups of heads, queries and keys."""
        n_samples, n_groups, n_queries, n_keys = shape
        heads = (n_samples, n_groups, like.shape[1], n_queries)

        def slots(part: Tensor, count: int) -> Tensor:
            return part.new_zeros(n_samples, n_groups, part.shape[1], count, part.shape[3])

        self.like, self.judged = like, judged
        self.q = slots(like.q, n_queries)
        self.k, self.v = slots(like.k, n_keys), slots(like.v, n_keys)
        self.mask = like.q.new_zeros(*heads, n_keys, dtype=torch.bool)
        self.bias, self.maps = (
            None if part is None else part.new_zeros(*heads, n_keys)
            for part in (like.bias, like.maps)
        )
        self.sink = None if like.sink is None else like.sink.new_zeros(heads)
        self.held = self.mask.new_zeros(n_samples, n_groups, n_keys)
        self.covered = self.mask.new_zeros(n_samples, n_groups, n_queries)

    def put(self, piece: Piece, columns: SlotTokens) -> bool:
        """Whether it fits to what is there; each key has its column.

        It does not if a sample looks at another one, for which there is no place, or if a key is
        not what it was in another piece.
        """
        row, at = row_of(piece.ran, piece.row), (piece.sample, piece.group)
        queries, keys = (piece.queries >= 0).nonzero()[:, 0], (piece.keys != OTHER).nonzero()[:, 0]
        judged = queries[self.judged[piece.sample, piece.queries[queries]]]
        if bool(opened_in(row)[0, :, judged][..., piece.keys == OTHER].any()):
            return False
        rows, columns = piece.queries[queries], columns[keys]
        row, keys, columns = _each_once(row, keys, columns)
        again = self.held[at][columns]
        for whole, part in ((self.k, row.k), (self.v, row.v)):
            held = part[0][:, keys]
            if not torch.equal(whole[at][:, columns[again]], held[:, again]):
                return False
            whole[at][:, columns] = held
        self.q[at][:, rows] = row.q[0][:, queries]
        self.held[at][columns] = self.covered[at][rows] = True
        squares = ((self.mask, row.mask), (self.bias, row.bias), (self.maps, row.maps))
        for square, own in squares:
            if square is not None and own is not None:
                square[at][:, rows[:, None], columns] = own[0][:, queries[:, None], keys]
        if self.sink is not None and row.sink is not None:
            self.sink[at][:, rows] = row.sink[0][:, queries]
        return True

    def call(self) -> AttentionCall:
        """The call, with its head groups on one axis."""
        parts: dict[str, Any] = {
            name: None if part is None else part.flatten(1, 2)
            for name, part in vars(self).items()
            if name in ("q", "k", "v", "mask", "bias", "maps", "sink")
        }
        parts["mask"] = parts["mask"] if self.maps is None else None
        return self.like._replace(**parts, signature=None, ragged=False)


def _each_once(
    row: AttentionCall, keys: Tensor, columns: SlotTokens
) -> tuple[AttentionCall, Tensor, SlotTokens]:
    """A token that stands twice among a row's keys is one: open if either is, their weights added.

    So it is in video, where the frame before the first one is the first one again.
    """
    single, which = columns.unique(return_inverse=True)
    if len(single) == len(columns):
        return row, keys, columns
    first = torch.stack([(which == n).nonzero()[0, 0] for n in range(len(single))])
    changed: dict[str, Any] = {}
    for name in ("mask", "maps"):
        if (square := getattr(row, name)) is not None:
            own = square[..., keys]
            added = own.new_zeros(*own.shape[:3], len(single), dtype=row.v.dtype)
            added = added.index_add_(3, which, own.to(added.dtype)).to(own.dtype)
            changed[name] = square.clone().index_copy_(3, keys[first], added)
    return row._replace(**changed), keys[first], single


def row_of(ran: AttentionCall, row: int) -> AttentionCall:
    """One row of its batch, with a mask, and every bias expanded to queries and keys."""
    (_, n_heads, *size), everything = ran.shape, ran.q.new_ones(1, 1, 1, 1, dtype=torch.bool)
    held = {**ran._asdict(), "mask": everything if ran.mask is None else ran.mask}
    parts: dict[str, Any] = {
        name: part[row % len(part)][None]
        for name in ("q", "k", "v", "mask", "bias", "maps", "sink")
        if (part := held[name]) is not None
    }
    for name in ("mask", "bias", "maps"):
        if name in parts:
            parts[name] = parts[name].expand(1, n_heads, *size)
    return ran._replace(**parts)
