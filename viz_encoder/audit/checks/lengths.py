"""Whether what holds at the first length holds below, at and above the window and the maximum."""

from contextlib import suppress

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.part_cause import by_parts
from viz_encoder.audit.faults import changed_tokens, gradients, padding, pooled, weights
from viz_encoder.audit.faults.changed_tokens import find_ignored
from viz_encoder.audit.measure.changes import first_nonfinite
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.setting import Case, ModelFault, RowsLost
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import (
    Check,
    Learned,
    Verdict,
    fails,
    is_sure,
    passes,
    raised,
    untested,
)
from viz_encoder.shown import continued

ROWS = 8  # differentiated at each length
# What sees a wrong mask as it is passed, at the first length.
SEEN = "CALL PASSED batch_independence WEIGHTS LINKS padding_invariance"
TELLING = (29, 25)  # few enough to look at each part; lengths that were shares of them show


@question(
    "Other lengths",
    Evidence.BATCHES,
    after=f"{SEEN} grad_mode",
    needs="output_pooling pooled_tokens",
    part="lengths",
    compares=True,
)
def lengths(context: AuditContext) -> Check:
    """Maps in full, some gradients, some changed tokens and padding, at each length."""
    done: list[int] = []
    refused = ""
    # A fault is new where it says more than a warning that the first length has given, too.
    warned = context.answers["padding_invariance"].verdict is Verdict.WARN
    new = (Verdict.FAIL,) if warned else (Verdict.FAIL, Verdict.WARN)
    for number, length in enumerate(context.other_lengths, 1):
        told = _at(context, length, new)
        if isinstance(told, Check):
            tried = Learned(lengths=context.other_lengths[:number])
            return (told if done else _advised(context, told, length)).but(learned=tried)
        refused = told or refused
        done += [] if told else [length]
    found = untested(f"Other lengths: {refused or 'none was asked for'}.")
    if done:
        more = f" Refused: {refused}." if refused else ""
        found = passes(f"At {', '.join(map(str, done))} tokens it holds as well.{more}")
    return found.but(learned=Learned(lengths=context.other_lengths))


def _at(context: AuditContext, length: int, new: tuple[Verdict, ...]) -> Check | str:
    """What is wrong at this length, or why the model does not run there; "" if all is right."""
    longest = context.scope.max_positions
    try:
        case = context.setting.case(context.setting.padding(length))
        out = context.subject.run(case)
    except ModelFault as fault:
        told = raised(fault, f"At {length} tokens")
        if context.scope.lengths or (longest is not None and length <= longest):
            return told
        if isinstance(fault, RowsLost):
            return _unless_made_up(context, told, length)
        return f"{length} tokens: {fault}"
    found = _find_fault(context, case, out)
    if found is None or found.verdict not in new:
        return ""
    text = f"At {length} tokens: {continued(found.evidence)}"
    return _unless_made_up(context, found.but(evidence=text), length)


def _unless_made_up(context: AuditContext, found: Check, length: int) -> Check:
    """The fault, or NOT TESTED if only the audit chose this length.

    An input with a structure, such as frames or a picture before a text, exists only at some
    lengths.
    """
    given = context.base.valid.shape[1]
    if not context.was_asked_for(length):
        return untested(
            f"Other lengths than the {given} tokens you chose. If the model is meant to take "
            f"{length}, give AuditScope(lengths=[{given}, {length}]), for there it is wrong: "
            f"{found.evidence}"
        )
    return found


def _advised(context: AuditContext, found: Check, length: int) -> Check:
    """With what to give if the first length is the only one; another that is right shows it is not.

    Nor is it where the cause is certain, or an earlier check failed at the first length, too.
    """
    given, sure = context.base.valid.shape[1], found.code and is_sure(found.cause)
    told = sure or found.verdict is not Verdict.FAIL or context.failed(*SEEN.split())
    if told or not context.scope.leaves_lengths_open:
        return found
    alone = (
        f"Is the model meant to take {length} tokens? If not, as of a picture or frames it takes a "
        f"fixed number, give those it takes: AuditScope(lengths=[{given}]). If so, do not."
    )
    return found.advised(alone)


def _find_fault(context: AuditContext, case: Case, out: Tensor) -> Check | None:
    """The first thing that is wrong in one case; None where all is right."""
    if (place := first_nonfinite(out, case)) is not None:
        sample, query = place
        text = f"Output row {query} of sample {sample}, a real token, is NaN or inf."
        return fails(text, sample=sample, query=query)
    found = weights.find_fault(context, case, maps_of(context.subject, case))
    if found is not None:
        return found
    some = context.gradients_on(case, ROWS)
    if not isinstance(some, str):
        found = None if context.is_pooled else gradients.find_fault(context, case, some)
        found = found or gradients.find_lost(context, case, some)
    found = found or find_ignored(context, case, out)
    found = found or changed_tokens.find_fault(context, case, out, most=6)
    found = found or pooled.find_other_tokens_at(context, case)
    found = found or padding.find_fault(context, case, out)
    if not context.failed("output_pooling"):
        found = found or pooled.find_fault(context, case, out)
    return found and _with_cause(context, found)


def _with_cause(context: AuditContext, found: Check) -> Check:
    """Add the faults of the parts at a length that tells them apart, if any."""
    if found.code or context.maps.layers or found.verdict is Verdict.NOT_TESTED:
        return found
    for length in TELLING:
        with suppress(ModelFault):
            cause = by_parts(context, context.setting.case(context.setting.padding(length)))
            if cause is not None and cause.code:
                return found.because(cause)
    return found
