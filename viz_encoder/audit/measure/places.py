"""Finds the token that each slot of an attention call holds, whatever the call's layout.

Windows, heads or documents may be folded into the batch, samples may run one at a time, tokens may
stand in another order. So tokens are changed: for each binary digit of their numbers those with a
1, then those with a 0. What a slot holds changes with one of both, and which spells the number.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viz_encoder.audit.measure.changes import with_changed
from viz_encoder.audit.measure.fixed_keys import attended
from viz_encoder.audit.measure.products import Products
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.measure.slots import with_parts
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.errors import TraceError
from viz_encoder.trace import record
from viz_encoder.trace.attention_call import AttentionCall
from viz_encoder.trace.callers_state import random_states_kept
from viz_encoder.trace.recorded_call import RecordedCall

NONE, UNCLEAR = -1, -2  # in place of a number: it holds no token; it depends on several
MARGIN = 2.0  # its own token changes a slot at least so many times as much as all others do
STILL = 0.02  # relative to the largest change: slots that change less hold no token
SMALLER = 0.05  # times the weights: then a slot holds little but its own token
HALF = 2_718_281_828  # picks the tokens changed together
RunCase = Callable[[Case], object]
SlotNumbers = Int[Tensor, "row slot"]
QueryAndKey = tuple[Float[Tensor, "row query"], Float[Tensor, "row key"]]


@dataclass(frozen=True, eq=False)
class TokenPlaces:
    """The sample and the token of each query and each key of one call, row by row of its batch."""

    samples: tuple[SlotNumbers, SlotNumbers]  # of queries, of keys
    tokens: tuple[SlotNumbers, SlotNumbers]

    @property
    def clear(self) -> bool:
        """Whether each slot is known to hold one token or none."""
        return not any(bool((one == UNCLEAR).any()) for one in (*self.samples, *self.tokens))

    def or_else(self, other: "TokenPlaces") -> "TokenPlaces":
        """The other's numbers where this one's are not clear and no clear slot holds that token."""
        sides = []
        for own, token, samples, tokens in zip(
            self.samples, self.tokens, other.samples, other.tokens, strict=True
        ):
            both = [
                torch.where(one == UNCLEAR, more, one)
                for one, more in ((own, samples), (token, tokens))
            ]
            base = 1 + int(both[1].max())
            twice = _stand_twice(both[0] * base + both[1], (both[0] >= 0) & (both[1] >= 0))
            sides.append((both[0], both[1].masked_fill(twice & (token == UNCLEAR), UNCLEAR)))
        queries, keys = sides
        return TokenPlaces((queries[0], keys[0]), (queries[1], keys[1]))


def places_of(
    subject: Subject, case: Case, calls: Sequence[RecordedCall], run: RunCase
) -> list[TokenPlaces] | None:
    """Places for each call; None if the model's path depends on content, or there are none.

    `run` runs the model on a case as it was run when the calls were recorded.
    """
    smaller = subject.weights(lambda weight: weight * SMALLER)
    found = _places(subject, case, calls, run, smaller)
    if found is not None and all(one.clear for one in found):
        return found
    usual = _places(subject, case, calls, run, nullcontext())
    if found is None or usual is None:
        return found or usual
    return [one.or_else(other) for one, other in zip(found, usual, strict=True)]


def stand_in_place(subject: Subject, case: Case, run: RunCase) -> bool:
    """Whether the slots that move with every other token, drawn at random, are those of the tokens.

    Of calls of whole samples; the weights are smaller, so that a slot holds little but its token.
    """
    half = torch.rand(case.valid.shape, generator=torch.Generator().manual_seed(HALF)) < 0.5
    half = half.to(case.valid.device)
    with subject.weights(lambda weight: weight * SMALLER):
        runs = [_recorded(subject, one, run) for one in (case, with_changed(case, half))]
    whole = [pair for pair in zip(*runs, strict=False) if _is_whole(pair[0], case)]
    sides = [side for pair in whole for side in _apart(*pair)]
    return all(_move_alone(side, half, case.valid) for side in sides)


def _is_whole(call: AttentionCall, case: Case) -> bool:
    n_samples, n_tokens = case.valid.shape
    return not call.ragged and call.shape[0] == n_samples and call.shape[2:] == (n_tokens,) * 2


def _move_alone(moved: Tensor, changed: Tensor, real: Tensor) -> bool:
    """Whether in each sample what was changed moved more than all that was not."""
    least = moved.masked_fill(~(changed & real), torch.inf).amin(dim=1)
    most = moved.masked_fill(changed | ~real, 0.0).amax(dim=1)
    return bool((least > most).all())


def _places(
    subject: Subject,
    case: Case,
    calls: Sequence[RecordedCall],
    run: RunCase,
    weights: AbstractContextManager[None],
) -> list[TokenPlaces] | None:
    n_samples, n_tokens = case.valid.shape
    with weights:
        same = _recorded(subject, case, run)
        by_sample = [
            _recorded(subject, with_changed(case, one[:, None].expand_as(case.valid)), run)
            for one in _halves(n_samples, case.valid.device)
        ]
        by_token = [
            _recorded(subject, with_changed(case, one.expand_as(case.valid)), run)
            for one in _halves(n_tokens, case.valid.device)
        ]
    shapes = [in_rows(call.attention, n_tokens).shape for call in calls]
    if any([one.shape for one in each] != shapes for each in (same, *by_sample, *by_token)):
        return None
    found = []
    for number, one in enumerate(same):
        samples, tokens = (
            [_apart(one, each[number]) for each in runs] for runs in (by_sample, by_token)
        )
        held = one.k if one.k.shape[3] else one.v
        found.append(_spelled(samples, tokens, n_samples, n_tokens, held))
    moved = any(bool((one.samples[1] != NONE).any()) for one in found)
    return found if moved else None  # nothing that the model reads was changed


def in_rows(ran: AttentionCall, n_tokens: int) -> AttentionCall:
    """The call; of more axes before its queries, all in its batch where its queries are blocks.

    Which of these axes are heads, and which are blocks or windows, the call does not tell.
    """
    n_rows, n_heads, n_queries, _ = ran.shape
    if not ran.folded or n_heads == 1 or n_queries >= n_tokens:
        return ran

    def moved(part: Tensor) -> Tensor:
        whole = part.repeat_interleave(n_heads // part.shape[1], dim=1)
        return whole.expand(n_rows, *whole.shape[1:]).flatten(0, 1)[:, None]

    names = ("q", "k", "v", "mask", "bias", "maps", "signature", "sink")
    return with_parts(ran, names, moved)


def _halves(count: int, device: torch.device) -> Iterator[Bool[Tensor, " number"]]:
    """For each binary digit of the numbers below `count` those with a 1, then those with a 0."""
    numbers = torch.arange(count, device=device)
    for digit in range((count - 1).bit_length()):
        ones = (numbers >> digit) & 1 == 1
        yield from (ones, ~ones)


def _recorded(subject: Subject, case: Case, run: RunCase) -> list[AttentionCall]:
    """Its calls, always with the same dropout; none where it raises."""
    kept = random_states_kept([subject.device])
    try:
        with kept, Products() as products, record(subject.whole, hidden=False, eager=True) as found:
            run(case)
        seen = [c for n, c in enumerate(attended(found)) if n not in subject.fixed_keys]
        calls = products.put_into((one.attention for one in seen), len(case.valid))
        return [in_rows(one, case.valid.shape[1]) for one in calls]
    except (ModelFault, TraceError):
        return []


def _apart(one: AttentionCall, other: AttentionCall) -> QueryAndKey:
    """How far each query and key moved, "row slot"; the whole row if no more is kept."""
    q, k, v, maps = (_moved(getattr(one, n), getattr(other, n)) for n in ("q", "k", "v", "maps"))
    n_queries, n_keys = one.shape[2:]
    keys = next((x for x in (k, v) if x is not None), None)
    row = maps.amax(dim=1, keepdim=True) if keys is None and maps is not None else None
    if keys is None:
        assert row is not None
        return row.expand(-1, n_queries), row.expand(-1, n_keys)
    if q is None:  # not known how its scores were made
        square = n_queries == n_keys
        q = keys if square else keys.amax(dim=1, keepdim=True).expand(-1, n_queries)
    return q, keys


def _moved(one: Tensor | None, other: Tensor | None) -> Float[Tensor, "row slot"] | None:
    if one is None or other is None or one.shape != other.shape or not one.shape[3]:
        return None
    return (one - other).nan_to_num(0.0).abs().amax(dim=(1, 3)).float()


def _spelled(
    samples: Sequence[QueryAndKey],
    tokens: Sequence[QueryAndKey],
    n_samples: int,
    n_tokens: int,
    held: Tensor,
) -> TokenPlaces:
    """The numbers of both, of queries and of keys; `held` is what the keys hold."""
    sides = []
    for side in (0, 1):
        own = _numbers([pair[side] for pair in samples], n_samples)
        token = _numbers([pair[side] for pair in tokens], n_tokens)
        if not len(samples):
            own = torch.where(token == NONE, NONE, 0)
        if bool((token == NONE).all()) and bool((own != NONE).any()):
            token = torch.full_like(token, UNCLEAR)  # tokens cannot be changed one by one
        own, token = torch.where(token == NONE, NONE, own), torch.where(own == NONE, NONE, token)
        twice = _stand_twice(own * n_tokens + token, (own >= 0) & (token >= 0))
        if side == 1 and bool(twice.any()):
            twice &= ~_are_copies(held, token, twice)
        sides.append((own, token.masked_fill(twice, UNCLEAR)))
    queries, keys = sides
    return TokenPlaces((queries[0], keys[0]), (queries[1], keys[1]))


def _are_copies(
    held: Tensor, token: SlotNumbers, twice: Bool[Tensor, "row slot"]
) -> Bool[Tensor, "row slot"]:
    """Keys that seem to hold one token, and that hold the same: it stands there twice."""
    alike = torch.zeros_like(twice)
    known = len(held) == len(token) and held.shape[3]
    for row in twice.any(dim=1).nonzero()[:, 0].tolist() if known else ():
        slots = twice[row].nonzero()[:, 0]
        content = held[row][:, slots].transpose(0, 1).flatten(1)
        same = (content[:, None] == content).all(dim=-1)
        alike[row, slots] = torch.equal(same, token[row, slots][:, None] == token[row, slots])
    return alike


def _stand_twice(numbers: SlotNumbers, known: Bool[Tensor, "row slot"]) -> Bool[Tensor, "row slot"]:
    """Tokens that several slots of one row seem to hold."""
    same = (numbers[:, :, None] == numbers[:, None, :]) & known[:, :, None] & known[:, None, :]
    return same.sum(dim=2) > 1


def _numbers(moved: Sequence[Float[Tensor, "row slot"]], count: int) -> SlotNumbers:
    """Decode token indices from how far each slot moved with the ones and zeros of each digit."""
    if not len(moved):
        return torch.zeros(1, 1, dtype=torch.long)
    ones, zeros = torch.stack(list(moved[::2])), torch.stack(list(moved[1::2]))
    total = (ones + zeros).sum(dim=0)
    still = total <= STILL * total.max()
    weight = 2 ** torch.arange(len(ones), device=ones.device)
    found = ((ones > zeros).long() * weight[:, None, None]).sum(dim=0)
    unclear = (ones.maximum(zeros) < MARGIN * ones.minimum(zeros)).any(dim=0) | (found >= count)
    return found.masked_fill(unclear, UNCLEAR).masked_fill(still, NONE)
