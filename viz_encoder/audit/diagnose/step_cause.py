"""Why decoding with a cache differs from one run: by the maps of its steps, where they are seen."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import UNKNOWN, diagnose
from viz_encoder.audit.measure.fixed_keys import attended
from viz_encoder.audit.measure.held import modules_of
from viz_encoder.audit.measure.layer import LayerRun
from viz_encoder.audit.measure.setting import MASS, Case
from viz_encoder.audit.measure.subject import Whole
from viz_encoder.audit.report import Diagnosis
from viz_encoder.errors import TraceError
from viz_encoder.model.mask_mods import n_needed
from viz_encoder.trace import record
from viz_encoder.trace.recorded_call import RecordedCall

KeptRows = Bool[Tensor, "batch #head row key"]
IN_STEPS = (
    "Compare the positions (position_ids, rotary) that a step gets with those of one run, and see "
    "that slots of the cache that are free as yet are closed."
)
NOT_THE_MASK = Diagnosis(
    "", "not known: each layer of each step looks where it may, so it is not the mask.", IN_STEPS
)


class StepRows(NamedTuple):
    """What one layer opened to the tokens of one step, beside what it was meant to open."""

    layer: int
    start: int  # tokens before this step
    opened: KeptRows
    meant: Bool[Tensor, "batch row key"]  # of all tokens so far
    opens_filling: bool = False  # whether slots of the cache that hold no token yet are open

    @property
    def is_short(self) -> bool:
        """Whether the cache holds fewer tokens than there were."""
        return self.opened.shape[3] < self.meant.shape[2]

    def is_open_as(self, pairs: Tensor) -> bool:
        """Whether each head is open there, and nowhere else."""
        fits = not self.opens_filling and self.opened.shape[3] == pairs.shape[-1]
        return fits and bool((self.opened == pairs).all())


def of_steps(context: AuditContext, case: Case, sizes: Sequence[int], row: int) -> Diagnosis | None:
    """The cause that the first wrong map shows; None where no map can be seen.

    Args:
        context: of the audit.
        case: a batch without padding.
        sizes: how many tokens each step takes.
        row: the first token whose output differs; later steps are left out.
    """
    try:
        steps = [one for one in _steps(context, case, sizes) if one.start <= row]
    except (TraceError, LookupError):
        return None
    whole = [one for one in steps if not one.is_short]
    wrong = next((one for one in whole if not one.is_open_as(one.meant[:, None])), None)
    if wrong is not None:
        return _cause(context, case, wrong)
    short = next((one for one in steps if one.is_short and _n_open(one) != _n_meant(one)), None)
    if short is not None:
        return _too_few(short)
    return NOT_THE_MASK if steps and len(whole) == len(steps) else None


def _too_few(seen: StepRows) -> Diagnosis:
    """That the first token of a step sees fewer than it may, where it does."""
    n_open, n_meant = _n_open(seen), _n_meant(seen)
    more = f": token {seen.start} sees {n_open} tokens, and may see {n_meant}"
    return diagnose("cache_short", more=more) if n_open < n_meant else UNKNOWN


def _n_open(one: StepRows) -> int:
    return int(one.opened[0, 0, 0].sum())


def _n_meant(one: StepRows) -> int:
    return int(one.meant[0, 0].sum())


def _cause(context: AuditContext, case: Case, wrong: StepRows) -> Diagnosis:
    """The mask that these rows would have under each cause."""
    if wrong.opens_filling:
        return diagnose("open_slots")
    n_rows, n_keys = wrong.meant.shape[1:]
    cornered = context.intent(case, wrong.layer)[:, :n_rows, :n_keys]
    itself = torch.ones_like(wrong.meant).tril(wrong.start).triu(wrong.start)
    fits = (
        ("cache_pattern", torch.ones_like(wrong.meant).tril(wrong.start)),
        ("corner", cornered),
        ("corner", cornered | itself),
    )
    found = [*dict.fromkeys(code for code, one in fits if wrong.is_open_as(one[:, None]))]
    leaks = bool((wrong.opened & ~wrong.meant[:, None]).any())
    return diagnose(found[0]) if len(found) == 1 else UNKNOWN if leaks else _too_few(wrong)


def _steps(context: AuditContext, case: Case, sizes: Sequence[int]) -> Iterator[StepRows]:
    """Each layer of each step, in order."""
    step, cache, start = context.scope.step, None, 0
    assert step is not None
    takes_mask = n_needed(step) == 3
    whole = Whole(lambda x, more: step(x, *more), modules_of(step)).eval()
    for size in sizes:
        seen = slice(start + size)
        more: list[Any] = [cache]
        if takes_mask:
            more.append(context.setting.passed(case.valid[:, seen], case.x[:, seen]))
        with torch.no_grad(), record(whole, hidden=False, eager=True) as recording:
            _, cache = whole(case.x[:, start : start + size].clone(), more)
        calls = _of_layers(attended(recording), len(context.maps.layers))
        for number, call in enumerate(calls):
            yield _rows(context, case, call, number, (start, size))
        start += size


def _of_layers(calls: Sequence[RecordedCall], n_layers: int) -> Sequence[RecordedCall]:
    """The calls of self-attention; where a cache is passed beside the tokens, all look crossed."""
    own = [one for one in calls if not one.cross] if len(calls) > n_layers else calls
    if not own or len(own) != n_layers:
        raise LookupError
    return own


def _rows(
    context: AuditContext, case: Case, call: RecordedCall, number: int, at: tuple[int, int]
) -> StepRows:
    start, size = at
    ran = call.attention
    n_queries = ran.shape[2]
    if ran.ragged or n_queries < size:
        raise LookupError
    opened = LayerRun(call.name, ran, len(case.valid)).looked_at(MASS)[:, :, n_queries - size :]
    filling = _filling(ran.v, ran.shape[3] - start - size, ran.shape[3])
    meant = context.intent(case, number)[:, start : start + size, : start + size]
    open_ = bool(opened[..., filling].any())
    return StepRows(number, start, opened[..., ~filling], meant, open_)


def _filling(values: Tensor, n_free: int, n_keys: int) -> Bool[Tensor, " key"]:
    """The slots of a cache that hold no token: their values are the same in all samples."""
    if n_free <= 0:
        return torch.zeros(n_keys, dtype=torch.bool, device=values.device)
    found = (values == values[:1]).all(dim=3).all(dim=1).all(dim=0)
    if len(values) < 2 or len(found) != n_keys or int(found.sum()) != n_free:
        raise LookupError
    return found
