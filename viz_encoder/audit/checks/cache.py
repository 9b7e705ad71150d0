"""Whether token by token with a cache gives what the whole sequence gives at once."""

from contextlib import suppress
from itertools import accumulate

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import UNKNOWN, diagnose
from viz_encoder.audit.diagnose.step_cause import IN_STEPS, NOT_THE_MASK, of_steps
from viz_encoder.audit.measure.changes import gap, with_changed
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Diagnosis, Verdict, fails, passes, untested
from viz_encoder.errors import InputError
from viz_encoder.shown import listed

SAME = "Token by token and in pieces, it gives the same as the whole sequence at once."
MOST_ROWS = 8  # of a longer text, to ask whether they know too much
MOST_TOKENS = 16  # of a longer text, to ask whether they are known: a ring loses the first ones
NO_MASK = Diagnosis(
    "",
    "not known: over all layers, that token knows of all that it may know of, and of nothing else.",
    f"{IN_STEPS} Then compare the mask of each layer in a step with the rows of intent(valid).",
)
OF_ONE = diagnose("one_sample_step")
NO_PADDING = Diagnosis(
    "", "not known: no padding reaches real tokens, so it is not that padding is open.", IN_STEPS
)


@question(
    "With a KV cache",
    Evidence.USE,
    after="runs",
    needs="lengths",
    one_sided=True,
    needs_numbers=True,
)
def cache(context: AuditContext) -> Check:
    """Judge decoding one token at a time; report decoding a prefix and then pairs."""
    step = context.scope.step
    if step is None:
        return untested("A KV cache: no AuditScope(step=…) was given.")
    first = context.full, context.subject.run(context.full)
    told = []
    for case, whole in (first, *_alone(context), *context.other_cases(padded=False)):
        found = _stepwise(context, case, whole)
        if found is not None and found.verdict is Verdict.FAIL:
            return found
        told += [found] if found is not None else []
    padded = _padded(context) if context.scope.step_takes_mask and context.setting.pads else None
    if padded is not None and padded.verdict is Verdict.FAIL:
        return padded
    return next((one for one in (*told, padded) if one is not None), passes(SAME))


def _alone(context: AuditContext) -> list[tuple[Case, Tensor]]:
    """The first sample in a batch of its own, as most texts are generated, if it runs."""
    if len(context.full.valid) == 1:
        return []
    with suppress(ModelFault, InputError):
        one = context.setting.whole(context.full, 0)
        return [(one, context.subject.run(one))]
    return []


def _stepwise(context: AuditContext, case: Case, whole: Tensor) -> Check | None:
    """The steps against the whole sequence at once."""
    n_tokens = case.valid.shape[1]
    longer = n_tokens != context.full.valid.shape[1]
    alone = " in a batch of one sample" if len(case.valid) < len(context.full.valid) else ""
    at = f" {case.at_length}" if longer else alone
    ways = {"token by token": [1] * n_tokens, "in pieces": _pieces(n_tokens)}
    for name, sizes in ways.items():
        try:
            out = _stepped(context, case, sizes)
        except Exception as fault:
            text = f"Run {name}{at}, step raised {type(fault).__name__}: {fault}."
            if name == "in pieces":
                return None if longer else passes(f"Token by token it agrees. {text}")
            asked = not longer or context.was_asked_for(n_tokens)
            return fails(text) if asked else None
        apart = gap(out, whole)
        if apart.amount > context.tolerance(whole):
            same = (out - whole).abs().flatten(2).amax(dim=(0, 2)) <= context.tolerance(whole)
            wrong = (~same).nonzero()[:, 0].tolist()
            first = f"; the first that differs is token {wrong[0]}"
            text = (
                f"Run {name} with a cache{at}, token {apart.query} of sample {apart.sample} "
                f"differs by {apart.amount:.2g} from running the whole sequence at once{first}."
            )
            if longer and not context.was_asked_for(n_tokens):
                return untested(text)
            over = _too_much(context, case, sizes, wrong[:MOST_ROWS] if longer else wrong)
            if over is not None:
                over = over.because(OF_ONE) if alone else over
                return over.but(evidence=f"{text} {over.evidence}")
            if context.scope.may_leave_out:
                return _open(text)
            few = name == "in pieces" and _too_few(context, case, sizes, wrong[:MOST_ROWS])
            verdict = Verdict.FAIL if few or name == "token by token" else Verdict.INFO
            text = f"{text} {few}" if few else text
            query = wrong[0] if few else apart.query
            found = Check(verdict, text, sample=apart.sample, query=query, amount=apart.amount)
            if n_tokens > MOST_TOKENS or alone:
                return found.because(OF_ONE if alone else UNKNOWN)
            return found.because(_cause(context, case, sizes, query))
    return None


def _too_much(context: AuditContext, case: Case, sizes: list[int], rows: list[int]) -> Check | None:
    """The first of these rows that moves with tokens that it may not know of."""
    out, may = _stepped(context, case, sizes), context.may(case)

    def moved(row: int, tokens: Tensor) -> float:
        fed = with_changed(case, tokens).x
        return gap(_stepped(context, case, sizes, fed=fed)[:, row : row + 1], out[:, [row]]).amount

    if gap(_stepped(context, case, sizes), out).amount > 0:
        return None  # such a model moves by itself
    place = torch.arange(case.valid.shape[1], device=case.valid.device)
    for row in rows:
        hidden = ~may[:, row]
        if bool(hidden.any()) and (amount := moved(row, hidden)) > 0:
            end = next(end for end in accumulate(sizes) if end > row)
            in_piece = moved(row, hidden & (place > row) & (place < end)) > 0
            what = "later tokens of its piece" if in_piece else "tokens that it may not know of"
            found = fails(f"Token {row} moves with {what}.", query=row)
            found = found.but(amount=amount)
            if in_piece:
                return found.because(diagnose("open_piece"))
            return found.because(of_steps(context, case, sizes, row) or UNKNOWN)
    return None


def _too_few(context: AuditContext, case: Case, sizes: list[int], rows: list[int]) -> str:
    """The first of these rows that stays as it is with a token that moves it in a whole run."""
    out, whole = _stepped(context, case, sizes), context.subject.run(case)
    tolerance, must = context.tolerance(whole), context.must(case)[:, rows].any(dim=0)
    for token in range(rows[-1])[:MOST_TOKENS]:
        fed = _with_other(case, token)
        moved, meant = _stepped(context, case, sizes, fed=fed), context.subject.run(case, x=fed)
        for number, row in enumerate(rows):
            still = gap(moved[:, [row]], out[:, [row]]).amount == 0
            moves = gap(meant[:, [row]], whole[:, [row]]).amount > tolerance
            if token < row and bool(must[number, token]) and still and moves:
                return f"Token {row} does not move with token {token}, which it may know of."
    return ""


def _with_other(case: Case, token: int) -> Tensor:
    """The inputs with this token changed in every sample."""
    tokens = torch.zeros_like(case.valid)
    tokens[:, token] = True
    return with_changed(case, tokens).x


def _cause(context: AuditContext, case: Case, sizes: list[int], row: int) -> Diagnosis:
    """By the maps of the steps; else the wrong corner, where it knows of as many tokens as that."""
    by_maps = of_steps(context, case, sizes, row)
    if by_maps is not None and by_maps is not UNKNOWN:
        return by_maps
    start = max(end for end in accumulate(sizes, initial=0) if end <= row)
    meant = context.must(case)[:, row, :row].all(dim=0)
    known, out = torch.zeros_like(meant), _stepped(context, case, sizes)
    for token in range(row):
        moved = _stepped(context, case, sizes, fed=_with_other(case, token))
        known[token] = gap(moved[:, row:][:, :1], out[:, row:][:, :1]).amount > 0
    if torch.equal(known, meant):
        return NOT_THE_MASK if context.n_layers == 1 else NO_MASK
    cornered = torch.arange(row, device=known.device) <= row - start
    if torch.equal(known, cornered):
        return diagnose("corner", sure=False)
    if bool((known & ~meant).any()):
        return UNKNOWN
    lost = listed([str(n) for n in (meant & ~known).nonzero()[:, 0].tolist()])
    return diagnose("cache_short", more=f": token {row} does not know of {lost}")


def _padded(context: AuditContext) -> Check | None:
    """A prompt with padding in front, then token by token, against all at once."""
    valid = context.setting.padding(context.base.valid.shape[1], left=True)
    case = context.setting.case(valid)
    whole = context.subject.run(case)
    sizes = [valid.shape[1] // 2, *[1] * (valid.shape[1] - valid.shape[1] // 2)]
    try:
        out = _stepped(context, case, sizes)
    except Exception as fault:
        text = f"With padding before the prompt, step raised {type(fault).__name__}: {fault}."
        return fails(text)
    apart = gap(out, whole, valid)
    if apart.amount <= context.tolerance(whole):
        return None
    text = (
        f"With padding before the prompt, token {apart.query} of sample {apart.sample} differs "
        f"by {apart.amount:.2g} between steps with a cache and the whole sequence at once."
    )
    if context.scope.may_leave_out:
        return _open(text)
    found = fails(text).at(apart)
    return found.because(_cause_of_padded(context, case, sizes, out))


def _cause_of_padded(context: AuditContext, case: Case, sizes: list[int], out: Tensor) -> Diagnosis:
    """That padding is no longer masked, where its content reaches real rows of the steps alone."""
    rows = case.valid[..., None] if case.x.is_floating_point() else case.valid
    other = 1 - case.x if case.x.is_floating_point() else case.x.max()
    fed = torch.where(rows, case.x, other)
    reaches = gap(_stepped(context, case, sizes, fed=fed), out, case.valid).amount > 0
    whole = context.subject.run(case), context.subject.run(case, x=fed)
    if not reaches:
        return NO_PADDING
    return UNKNOWN if gap(*whole, case.valid).amount > 0 else diagnose("cache_padding")


def _open(text: str) -> Check:
    """A difference that is no fault where a cache may leave out other links, as by eviction."""
    return untested(f"{text} With a cache it may leave out other links (may_leave_out=True).")


def _pieces(n_tokens: int) -> list[int]:
    """A prompt, then three tokens at once, and two."""
    last = [one for one in (3, 2) if n_tokens > 5]
    return [n_tokens - sum(last), *last]


def _stepped(
    context: AuditContext, case: Case, sizes: list[int], fed: Tensor | None = None
) -> Tensor:
    """The rows of steps of these sizes; of other content, where that is fed, and the same masks."""
    step, cache, rows, start = context.scope.step, None, [], 0
    assert step is not None
    fed = case.x if fed is None else fed
    with torch.no_grad():
        for size in sizes:
            seen, x = case.valid[:, : start + size], case.x[:, : start + size]
            more = [context.setting.passed(seen, x)] if context.scope.step_takes_mask else []
            out, cache = step(fed[:, start : start + size].clone(), cache, *more)
            rows.append(context.subject.read(out, seen[:, start:]))
            start += size
    return torch.cat(rows, dim=1)
