"""Calls of attention in any layout, put together as layers of the whole batch, token by token.

A token's first query belongs to the first layer, its second to the second. Where a token stands in
several rows of one call's batch, its heads are folded into that batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.measure.places import NONE, UNCLEAR, RunCase, TokenPlaces, in_rows, places_of
from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.measure.slots import opened_in
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.measure.whole_call import OTHER, Piece, SlotTokens, WholeCall, row_of
from viz_encoder.trace.attention_call import AttentionCall
from viz_encoder.trace.recorded_call import RecordedCall


class PlacedCall(NamedTuple):
    """A call with an axis for samples, heads, queries and keys."""

    call: RecordedCall
    by_token: bool = False  # whether token n is known to be query n and key n
    among: bool = False  # whether keys that hold no token stood between the tokens


def as_layers(
    subject: Subject, case: Case, calls: Sequence[RecordedCall], run: RunCase
) -> list[PlacedCall] | None:
    """The calls token by token; None where that is not clear.

    A call of other tokens, or of which it is not clear what it holds, stays as it is.
    """
    places = places_of(subject, case, calls, run)
    return None if places is None else joined(case, calls, places)


def joined(
    case: Case, calls: Sequence[RecordedCall], places: Sequence[TokenPlaces]
) -> list[PlacedCall] | None:
    """Join calls into layers, once each slot's token is known."""
    found, whole = _Layers(case.valid), dict[int, PlacedCall]()
    calls = [_own_kind(*one, len(case.valid)) for one in zip(calls, places, strict=True)]
    for number, (call, place) in enumerate(zip(calls, places, strict=True)):
        pieces = _pieces(call, place, case.valid)
        if pieces is None:
            whole[number] = PlacedCall(call)
        elif not found.add(number, call.cross, pieces):
            return None
    for number, pieces in found.layers():
        ran = _built(pieces, case, cross=calls[number].cross)
        if ran is None:
            return None
        call, among = replace(calls[number], ran=ran), any(map(_has_others_among, pieces))
        whole[number] = PlacedCall(call, by_token=True, among=among)
    return [whole[number] for number in sorted(whole)]


def _has_others_among(piece: Piece) -> bool:
    held = (piece.keys >= 0).nonzero()[:, 0]
    return bool(len(held)) and NONE in piece.keys[held[0] : held[-1]]


def _own_kind(call: RecordedCall, place: TokenPlaces, n_samples: int) -> RecordedCall:
    """The call; as self-attention, where its keys are tokens of other rows, such as frames."""
    crossed = len(place.tokens[1]) in (1, n_samples) or bool((place.tokens[1] < 0).all())
    return replace(call, cross=call.cross and crossed)


def _pieces(
    call: RecordedCall, place: TokenPlaces, valid: Bool[Tensor, "batch token"]
) -> list[Piece] | None:
    """One per row and sample; None if the queries' tokens are not known."""
    found, ran = [], in_rows(call.attention, len(valid[0]))
    for row in range(len(place.samples[0])):
        samples = place.samples[0][row]
        own = samples[samples != NONE].unique().tolist()
        if UNCLEAR in own:
            return None
        for sample in own:
            sides = [_of_sample(place, side, row, sample) for side in (0, 1)]
            if len(own) == 1:
                sides = [_in_order(one, valid[sample]) for one in sides]
            queries, keys = sides
            if call.cross:
                keys = torch.arange(ran.shape[3], device=keys.device)
            if bool((keys == UNCLEAR).any()):
                return None
            queries = queries.masked_fill(queries == UNCLEAR, NONE)  # if of padding, none is needed
            found.append(Piece(ran, row, sample, queries, keys))
    return found or None


def _of_sample(place: TokenPlaces, side: int, row: int, sample: int) -> SlotTokens:
    samples, tokens = place.samples[side][row], place.tokens[side][row]
    return torch.where((samples == sample) | (samples == NONE), tokens, OTHER)


def _in_order(tokens: SlotTokens, valid: Bool[Tensor, " token"]) -> SlotTokens:
    """Default for unknown slots: all tokens in order, or the real ones.

    Not where what can be told stands elsewhere; then only padding, of which no order matters.
    """
    unclear = tokens == UNCLEAR
    if not bool(unclear.any()):
        return tokens
    for places in (torch.arange(len(valid), device=valid.device), valid.nonzero()[:, 0]):
        if len(places) == len(tokens) and torch.equal(places[~unclear], tokens[~unclear]):
            return places
    missing = torch.ones_like(valid).index_fill(0, tokens[tokens >= 0], False)
    if int(missing.sum()) == int(unclear.sum()) and not bool((missing & valid).any()):
        return tokens.masked_scatter(unclear, missing.nonzero()[:, 0])
    return tokens


class _Layers:
    """Pieces by their layer: a token's n-th call is of the n-th layer."""

    def __init__(self, valid: Bool[Tensor, "batch token"]) -> None:
        self.valid = valid
        self._seen = {cross: torch.zeros_like(valid, dtype=torch.long) for cross in (False, True)}
        self._pieces: dict[tuple[bool, int], tuple[int, list[Piece]]] = {}

    def add(self, number: int, cross: bool, pieces: list[Piece]) -> bool:
        """Whether it is clear which layer they are of."""
        groups, seen = torch.zeros_like(self._seen[cross]), self._seen[cross]
        placed = []
        for piece in pieces:
            tokens = piece.queries[piece.queries >= 0]
            before = groups[piece.sample, tokens]
            if len(before.unique()) > 1 or len(tokens.unique()) < len(tokens):
                return False
            placed.append(replace(piece, group=int(before[0]) if len(before) else 0))
            groups[piece.sample, tokens] += 1
        covered = groups > 0
        if len(groups[covered].unique()) != 1 or len(seen[covered].unique()) != 1:
            return False
        layer = cross, int(seen[covered][0])
        self._pieces.setdefault(layer, (number, []))[1].extend(placed)
        seen[covered] += 1
        return True

    def layers(self) -> Iterator[tuple[int, list[Piece]]]:
        """The pieces of each layer, and the number of its first call."""
        yield from self._pieces.values()


def _built(pieces: Sequence[Piece], case: Case, *, cross: bool) -> AttentionCall | None:
    """One call of all samples; None if the pieces do not fit together.

    Keys that hold no token stand after the tokens.
    """
    first, valid, judged = pieces[0].ran, case.valid, case.judged
    if len({_kind(piece.ran) for piece in pieces}) != 1:
        return None
    named, n_tokens = _with_padding(pieces, valid), valid.shape[1]
    if len(pieces) > len({(piece.sample, piece.group) for piece in pieces}):
        named = [_without_closed(piece, judged) for piece in named]
    if cross:
        named, n_tokens = _side_by_side(pieces, len(valid))
    columns = [_columns(piece.keys, n_tokens) for piece in named]
    n_keys = max([n_tokens, *(int(one.max()) + 1 for one in columns if len(one))])
    n_groups = 1 + max(piece.group for piece in pieces)
    whole = WholeCall(first, judged, (len(valid), n_groups, valid.shape[1], n_keys))
    for piece, at in zip(named, columns, strict=True):
        if not whole.put(piece, at):
            return None
    covered = whole.covered.all(dim=1) | ~valid
    return whole.call() if cross or bool(covered.all()) else None


def _side_by_side(pieces: Sequence[Piece], n_samples: int) -> tuple[list[Piece], int]:
    """A sample's memories one after another, in the order of its rows, and how many keys there are.

    Where all of its rows have the same one, there is only that.
    """
    values, n_keys = pieces[0].ran.v, pieces[0].ran.shape[3]
    n_rows = len(values)
    per_sample = n_rows // n_samples
    in_order = all(one.group == 0 and one.sample == one.row // max(1, per_sample) for one in pieces)
    if n_rows % n_samples or per_sample < 2 or not in_order or _is_shared(values, per_sample):
        return [*pieces], n_keys
    moved = [replace(one, keys=one.keys + one.row % per_sample * n_keys) for one in pieces]
    return moved, per_sample * n_keys


def _is_shared(values: Tensor, per_sample: int) -> bool:
    """Whether each sample's rows have the same; not known of a product without values."""
    each = values.unflatten(0, (-1, per_sample))
    return values.shape[3] > 0 and bool((each == each[:, :1]).all())


def _kind(ran: AttentionCall) -> tuple[object, ...]:
    held = ran.maps is None, ran.sink is None
    return (ran.kind, *held, ran.scale, *(x.shape[1::2] for x in (ran.q, ran.k, ran.v)))


def _with_padding(pieces: Sequence[Piece], valid: Bool[Tensor, "batch token"]) -> list[Piece]:
    """Slots that nothing moves are padding, in order, where there are as many as it has tokens."""
    found = list(pieces)
    for sample, group in {(piece.sample, piece.group) for piece in pieces}:
        own = [n for n, p in enumerate(found) if (p.sample, p.group) == (sample, group)]
        known = torch.cat([found[n].keys for n in own])
        missing = torch.ones_like(valid[sample]).index_fill(0, known[known >= 0], False)
        if int((known == NONE).sum()) != int(missing.sum()):
            continue
        left = missing.nonzero()[:, 0]
        for n in own:
            keys = found[n].keys.clone()
            still = keys == NONE
            keys[still], left = left[: int(still.sum())], left[int(still.sum()) :]
            found[n] = replace(found[n], keys=keys)
    return found


def _without_closed(piece: Piece, judged: Bool[Tensor, "batch query"]) -> Piece:
    """Without keys that hold no token and are closed, whatever they hold in other pieces."""
    rows = judged[piece.sample, piece.queries.clamp_min(0)] & (piece.queries >= 0)
    opened = opened_in(row_of(piece.ran, piece.row))[0, :, rows].flatten(0, 1).any(dim=0)
    return replace(piece, keys=piece.keys.masked_fill((piece.keys == NONE) & ~opened, OTHER))


def _columns(keys: SlotTokens, n_tokens: int) -> SlotTokens:
    """Column of each key: tokens by index, then keys without a token."""
    none = keys == NONE
    return torch.where(none, n_tokens + none.cumsum(dim=0) - 1, keys)
