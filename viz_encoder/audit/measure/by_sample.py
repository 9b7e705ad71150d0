"""Calls of attention for one sample each, put together as layers of the whole batch.

A loop over the samples calls attention with a batch of 1, and the order of the calls does not say
whether layers or samples come first. So some samples are changed: a call belongs to the one sample
with which its queries, keys and values change.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor

from viz_encoder.audit.measure.passed import mapped, tensors_in
from viz_encoder.audit.measure.random_states import random_states_kept
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.errors import TraceError
from viz_encoder.trace import record
from viz_encoder.trace.attention_call import AttentionCall
from viz_encoder.trace.recorded_call import RecordedCall

UNASSIGNED = (
    "This model calls attention once per sample or document (with a batch of 1), and which call "
    "belongs to which layer cannot be told."
)
ALL, SEVERAL = -1, -2  # in place of a sample: it depends on none of them, or on more than one
Calls = Sequence[RecordedCall]
Run = Callable[[Case], object]


def is_single(call: RecordedCall, case: Case) -> bool:
    """Whether it is of one sample, though the batch has more."""
    return len(case.valid) > 1 and call.shape[0] == 1 and not call.attention.ragged


def as_layers(subject: Subject, case: Case, calls: Calls, run: Run) -> list[RecordedCall] | None:
    """The calls, each number-n-th of one sample joined with those of the others; None if unclear.

    `run` runs the model on a case as it was run when the calls were recorded.
    """
    owners = owners_of(subject, case, calls, run)
    if owners is None or SEVERAL in owners:
        return None
    own: dict[tuple[bool, int], list[int]] = {}
    found = {}
    for number, (call, sample) in enumerate(zip(calls, owners, strict=True)):
        if sample == ALL or (not call.cross and call.shape[2] != call.shape[3]):
            found[number] = call
        else:
            own.setdefault((call.cross, sample), []).append(number)
    for cross in {cross for cross, _ in own}:
        each = [own.get((cross, sample), []) for sample in range(len(case.valid))]
        if len({len(one) for one in each}) != 1:
            return None
        for numbers in zip(*each, strict=True):
            joined = _joined([calls[number] for number in numbers], case)
            if joined is None:
                return None
            found[min(numbers)] = joined
    return [found[number] for number in sorted(found)]


def owners_of(subject: Subject, case: Case, calls: Calls, run: Run) -> list[int] | None:
    """The sample of each call, or ALL, or SEVERAL; None where the model does not run alike.

    For each binary digit of the samples' numbers those with a 1 are changed, then those with a 0:
    a call of one sample changes with one of both, and which spells its number.
    """
    numbers = torch.arange(len(case.valid), device=case.valid.device)
    moved: list[list[tuple[bool, bool]]] = [[] for _ in calls]
    same = _recorded(subject, case, run)
    for digit in range((len(numbers) - 1).bit_length()):
        ones = (numbers >> digit) & 1 == 1
        found = [_recorded(subject, _changed(case, rows), run) for rows in (ones, ~ones)]
        if any([one.shape for one in each] != [one.shape for one in calls] for each in found):
            return None
        for number, (call, one, zero) in enumerate(zip(same, *found, strict=True)):
            moved[number].append((_differ(call, one), _differ(call, zero)))
    owners = [_owner(m) if is_single(c, case) else ALL for c, m in zip(calls, moved, strict=True)]
    if case.own and not any(map(any, (pair for each in moved for pair in each))):
        return None  # nothing that the model reads was changed
    return [SEVERAL if owner >= len(numbers) else owner for owner in owners]


def _owner(moved: list[tuple[bool, bool]]) -> int:
    if not any(map(any, moved)):
        return ALL
    if any(one == zero for one, zero in moved):
        return SEVERAL
    return sum(int(one) << digit for digit, (one, _) in enumerate(moved))


def _recorded(subject: Subject, case: Case, run: Run) -> Calls:
    """Its calls, always with the same dropout; none where it raises."""
    kept = random_states_kept([subject.device])
    try:
        with kept, record(subject.whole, hidden=False) as found:
            run(case)
    except (ModelFault, TraceError):
        return ()
    return [one for n, one in enumerate(found.calls) if n not in subject.not_attention]


def _changed(case: Case, rows: Bool[Tensor, " batch"]) -> Case:
    """Other content in those samples, in the same places; of a batch of one's own, its ids."""
    if not case.own:
        return replace(case, x=_other(case.x, case, rows))
    given = list(tensors_in(case.passed))
    ids = [(name, x) for name, x in given if x.shape == case.valid.shape and not _is_mask(x)]
    vectors = [x for _, x in given if x.is_floating_point() and x.ndim > 2 and len(x) == len(rows)]
    named = [x for name, x in ids if name == "input_ids"]
    chosen = {id(x) for x in (named or [x for _, x in ids] or vectors)[:1]}
    passed = mapped(case.passed, lambda x: _other(x, case, rows) if id(x) in chosen else x)
    return replace(case, passed=passed)


def _is_mask(x: Tensor) -> bool:
    return x.is_floating_point() or set(x.unique().tolist()) <= {0, 1}


def _other(x: Tensor, case: Case, rows: Tensor) -> Tensor:
    """Noise on vectors; each real id becomes the next larger one of the batch."""
    if x.is_floating_point():
        noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(3)).to(x)
        return torch.where(rows.view(-1, *[1] * (x.ndim - 1)), x + noise, x)
    if x.shape != case.valid.shape:
        return x
    known = x[case.valid].unique()
    after = known.roll(-1)[torch.searchsorted(known, x.contiguous()).clamp_max(len(known) - 1)]
    return torch.where(case.valid & rows[:, None], after, x)


def _differ(one: RecordedCall, other: RecordedCall) -> bool:
    parts = ("q", "k", "v", "maps")
    pairs = [(getattr(one.attention, name), getattr(other.attention, name)) for name in parts]
    return any(a is not None and not torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs)


def _joined(each: Calls, case: Case) -> RecordedCall | None:
    """One call of all samples, out of one of each; None where they are not alike."""
    ran = [call.attention for call in each]
    alike = {(a.kind, a.q.shape[1::2], a.k.shape[1::2], a.v.shape[1::2], a.scale) for a in ran}
    if len(alike) != 1 or len({a.maps is None for a in ran}) != 1:
        return None
    shapes, n_tokens = {call.shape[2:] for call in each}, case.valid.shape[1]
    if len(shapes) == 1 and (each[0].cross or shapes == {(n_tokens, n_tokens)}):
        return replace(each[0], ran=_side_by_side(ran))
    counts = case.valid.sum(dim=1).tolist()
    fits = [call.shape[2] in (n_tokens, n) for call, n in zip(each, counts, strict=True)]
    if each[0].cross or not all(fits):
        return None
    ran = [_placed(one, valid) for one, valid in zip(ran, case.valid, strict=True)]
    return replace(each[0], ran=_side_by_side(ran))


def _side_by_side(ran: Sequence[AttentionCall]) -> AttentionCall:
    q, k, v = (torch.cat([getattr(one, name) for one in ran]) for name in "qkv")
    whole = ran[0].shape[2:]
    return ran[0]._replace(
        q=q,
        k=k,
        v=v,
        mask=_stacked([one.mask for one in ran], whole, 1),
        bias=_stacked([one.bias for one in ran], whole, 0),
        maps=_stacked([one.maps for one in ran], whole, 0),
        signature=None,
        sink=None,
    )


def _stacked(
    parts: Sequence[Tensor | None], whole: tuple[int, int], missing: int
) -> Shaped[Tensor, "batch head query key"] | None:
    """Those of one sample each, with this number where one is missing; None where all are."""
    there = [part for part in parts if part is not None]
    if not there:
        return None
    none = torch.full_like(there[0][:1, :1, :1, :1], missing)
    n_heads = max(part.shape[1] for part in there)
    each = [none if part is None else part for part in parts]
    return torch.cat([part.expand(1, n_heads, *whole) for part in each])


def _placed(ran: AttentionCall, valid: Bool[Tensor, " token"]) -> AttentionCall:
    """What ran on the real tokens alone, in their places among all; nothing else is open."""
    n_tokens, n_ran = len(valid), ran.shape[2]
    places = (valid if n_ran < n_tokens else torch.ones_like(valid)).nonzero()[:, 0]

    def tokens(x: Tensor) -> Tensor:
        return x.new_zeros(1, x.shape[1], n_tokens, x.shape[3]).index_copy_(2, places, x)

    def square(x: Tensor | None) -> Tensor | None:
        if x is None:
            return None
        wide = x.new_zeros(1, x.shape[1], n_tokens, n_tokens)
        wide[:, :, places[:, None], places] = x.expand(1, -1, n_ran, n_ran)
        return wide

    everything = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=ran.q.device)
    return ran._replace(
        q=tokens(ran.q),
        k=tokens(ran.k),
        v=tokens(ran.v),
        mask=square(everything if ran.mask is None else ran.mask),
        bias=square(ran.bias),
        maps=square(ran.maps),
    )
