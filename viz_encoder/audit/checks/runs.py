"""Whether it runs at all, gives rows and numbers, and the same again, after another batch, too."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.passed_mask import suspicions
from viz_encoder.audit.diagnose.right_on import by_picking, unlike_itself
from viz_encoder.audit.faults import weights
from viz_encoder.audit.measure.changes import gap, nonfinite_rows
from viz_encoder.audit.measure.flex_masks import mapped, tensors_in
from viz_encoder.audit.measure.setting import Case, ModelFault, RowsLost
from viz_encoder.audit.measure.subject import rows_of_embedding
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Diagnosis, Learned, Verdict, fails, passes, raised
from viz_encoder.errors import InputError

# Numbers of frames, of patches with [CLS] and without, and of positions that models are made for.
SCOPE = (
    "scope=viz_encoder.audit.AuditScope(lengths=[{}]), or a batch of your own sizes: "
    "inputs=viz_encoder.audit.AuditInputs(valid=…)."
)
LENGTHS = (8, 12, 16, 20, 32, 49, 50, 64, 65, 77, 128, 196, 197, 256, 257)


@question("Runs, and gives numbers", Evidence.CALL, after="static")
def runs(context: AuditContext) -> Check:
    """Run one batch of three samples of different lengths, twice."""
    try:
        case, out = context.base, context.out
    except ModelFault as fault:
        return _raised(context, fault).but(learned=Learned("the model does not run"))
    n_samples, n_tokens = case.valid.shape
    fits = out.ndim == 2 and out.shape[0] == n_samples
    if not fits and not (out.ndim >= 3 and out.shape[:2] == (n_samples, n_tokens)):
        stops = Learned("the output has neither a row a token nor a row a sample")
        answer = _misshapen(out, case.valid).but(learned=stops)
        mended = None if len(out) == n_samples else _mended(context, case, ("mask_batch",))
        return answer if mended is None else answer.because(mended)
    real = nonfinite_rows(out, case)
    if bool(real.any()):
        sample, query = (int(n) for n in real.nonzero()[0])
        text = (
            f"Output row {query} of sample {sample}, a real token, is NaN or inf; "
            f"{int(real.sum())} real rows are."
        )
        answer = fails(text, sample=sample, query=query)
        if any(one.code == "saturated" for one in suspicions(case.passed, case.valid)):
            return answer.because(diagnose("saturated"))
        shown = weights.find_fault(context, case, context.maps)
        if shown is not None and shown.code:
            return answer.but(pictures=shown.pictures).because(
                Diagnosis(shown.code, shown.cause, shown.cure)
            )
        return answer.because(diagnose("empty_row", sure=False))
    again = gap(out, context.second.out, case.valid)
    if again.amount > context.tolerance(out):
        stops = Learned("the second of two equal calls gives another result")
        if (picking := by_picking(context)) is not None:
            return picking.but(learned=stops)
        text = (
            "The second of two equal calls gives another result, in eval mode: they differ by "
            f"{again.amount:.2g}."
        )
        answer = fails(text, amount=again.amount, learned=stops)
        return answer.because(unlike_itself(context))
    if (found := after_another(context)) is not None:
        return found
    bad = ~out.isfinite().flatten(1).all(dim=1) if out.ndim > 2 else case.valid.new_zeros(1)
    pads = " Rows of padding hold NaN." if bool(bad.any()) else ""
    row = "sample" if out.ndim == 2 else "token"
    return passes(
        f"An input {tuple(case.x.shape)} gives {tuple(out.shape)}, one row a {row}, and the same "
        f"numbers a second time.{pads}"
    )


def _raised(context: AuditContext, fault: ModelFault) -> Check:
    """The exception, and whether it would run with batch == length."""
    n_tokens = context.setting.first_valid().shape[1]
    answer = fails(fault.sentence)
    if "without overflow" in str(fault):
        return answer.because(diagnose("overflow"))
    with suppress(ModelFault):
        found = _mended(context, context.base)
        if found is not None:
            by_audit = found.code in ("ids", "make_mask")  # which called it so
            wrong = Verdict.ERROR if by_audit else Verdict.FAIL
            return answer.but(verdict=wrong).because(found)
    if (length := _other_length(context)) is not None:
        text = f"{answer.evidence} It runs with {length} tokens."
        return answer.but(verdict=Verdict.ERROR, evidence=text).because(
            diagnose("length", more=f": {n_tokens}")._replace(cure=SCOPE.format(length))
        )
    square = context.setting.padding(n_tokens)[:1].expand(n_tokens, -1)
    try:
        context.subject.run(context.setting.case(square))
    except (ModelFault, InputError):
        return answer
    text = f"{answer.evidence} It runs where batch and length are both {n_tokens}."
    return answer.but(evidence=text).because(diagnose("axes", sure=False))


def _other_length(context: AuditContext) -> int | None:
    """The first of LENGTHS with which the model runs, if the caller chose no length."""
    setting = context.setting
    if setting.given is not None or not context.scope.leaves_lengths_open:
        return None
    for length in LENGTHS:
        with suppress(ModelFault, InputError):
            context.subject.run(setting.case(setting.padding(length)))
            return length
    return None


def _mended(
    context: AuditContext,
    case: Case,
    codes: tuple[str, ...] = ("head_axis", "mask_batch", "make_mask", "ids"),
) -> Diagnosis | None:
    """What makes it run: another shape of the mask, or ids for vectors."""
    subject = context.subject
    ids = torch.ones_like(case.valid, dtype=torch.long)

    def of_all_heads(mask: Tensor) -> Tensor:
        return mask[:, None] if mask.ndim == 3 else mask

    def of_each_sample(mask: Tensor) -> Tensor:
        shared = mask.ndim > 2 and mask.shape[0] == 1
        return mask.expand(len(case.valid), *mask.shape[1:]) if shared else mask

    headed = replace(case, passed=mapped(case.passed, of_all_heads))
    whole = mapped(case.passed, of_each_sample)
    has_pairs = any(one.ndim == 3 for _, one in tensors_in(case.passed))
    tried: list[tuple[str, Case, Tensor | None]] = []
    tried += [("head_axis", headed, None)] if has_pairs else []
    tried += [("mask_batch", replace(case, passed=whole), None)]
    is_intent = isinstance(case.passed, Tensor) and torch.equal(case.passed, case.allowed[0])
    tried += [("make_mask", replace(case, passed=case.valid), None)] if is_intent else []
    tried += [("ids", case, ids)] if case.x.is_floating_point() else []
    for code, each, x in tried:
        if code not in codes:
            continue
        with suppress(ModelFault):
            if len(subject.run(each, x=x)) != len(case.valid):
                continue
            found = diagnose(code)
            rows = rows_of_embedding(subject.whole)
            told = f"vocab_size={rows}" if rows else "vocab_size=…"
            return found._replace(cure=found.cure.replace("vocab_size=…", told))
    return None


def _misshapen(out: Tensor, valid: Tensor) -> Check:
    n_samples, n_tokens = valid.shape
    if out.ndim > 2 and len(out) == n_samples:
        return raised(RowsLost.of(out, valid))
    text = (
        f"The output is {tuple(out.shape)}; ({n_samples}, {n_tokens}, …) was expected, one row "
        f"per token, or ({n_samples}, …), one row per sample."
    )
    return fails(text, cure="Return one row per token, or one row per sample.")


def after_another(context: AuditContext) -> Check | None:
    """Whether a run moves if a batch of other lengths, or one short sample, ran before it."""
    for words, other, case in _pairs(context):
        with suppress(ModelFault, InputError):
            if (apart := _moved_by(context, other, case)) > 0:
                stops = Learned("a call gives another result after one of another batch")
                text = f"After {words}, {_named(context, case)} gives what differs by {apart:.2g}."
                found = fails(text, amount=apart, learned=stops)
                return found.because(_cause(context, other))
    return _never_as_given(context)


def _pairs(context: AuditContext) -> Iterator[tuple[str, Case, Case]]:
    """What runs before, in words, and what runs after it; longer inputs if the base switches."""
    base, setting = context.base, context.setting
    with suppress(ModelFault, InputError):
        yield "another batch", setting.case(base.valid.roll(1, dims=0), x=base.x), base
    with suppress(ModelFault, InputError):
        if (short := setting.alone(base, int(base.valid.sum(dim=1).argmin()))) is not None:
            yield f"a sample of {short.valid.shape[1]} tokens", short, base
    if _switched_by(context, base):
        yield "a call like it", base, base
        for length in context.other_lengths:
            longer = setting.case(setting.padding(length))
            yield f"a batch of {base.valid.shape[1]} tokens", base, longer


def _named(context: AuditContext, case: Case) -> str:
    return "the same input" if case is context.base else f"one of {case.valid.shape[1]} tokens"


def _moved_by(context: AuditContext, other: Case, case: Case) -> float:
    """How far a case moves after the other one; 0 where it does not do so each time."""
    alone = context.out if case is context.base else context.subject.run(case)
    limit, out = context.tolerance(alone), _run_after(context, other, case)
    apart = gap(alone, out, case.valid).amount
    if apart > limit and gap(out, _run_after(context, other, case), case.valid).amount <= limit:
        return apart
    return 0.0


def _run_after(context: AuditContext, other: Case, case: Case) -> Tensor:
    with context.subject.switches.left_alone():
        context.subject.run(other)
        return context.subject.run(case)


def _switched_by(context: AuditContext, case: Case) -> str:
    """What one call of it switches for good, in words."""
    if not context.subject.switches.any:
        return ""
    context.subject.run(case)
    return context.subject.switches.words


def _cause(context: AuditContext, other: Case) -> Diagnosis:
    found = diagnose("kept")
    if not (words := _switched_by(context, other)):
        return found
    cause = f"a call switches the model for good: {words}."
    cure = "Choose in each call by what it is given, and set no attribute of the model for it."
    return found._replace(cause=cause, cure=cure)


def _never_as_given(context: AuditContext) -> Check | None:
    """A warning where each call that was tried switches to another word, so none ran as given."""
    if not context.subject.switches.any:
        return None
    cases = [context.base]
    with suppress(ModelFault, InputError):
        cases += [context.setting.case(context.setting.padding(n)) for n in context.other_lengths]
    told = ""
    for case in cases:
        with suppress(ModelFault):
            told = _switched_by(context, case)
            if not any(isinstance(was, str) for was, _ in context.subject.switches.last.values()):
                return None
    text = f"Each call switches the model for good, so it was never tried as given: {told}."
    cure = "Give AuditScope(lengths=[…]) of inputs that do not switch it."
    return Check(Verdict.WARN, text, cure=cure)
