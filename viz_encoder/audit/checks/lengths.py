"""Whether what holds at the first length holds below, at and above the window and the maximum."""

from contextlib import suppress

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.part_cause import by_parts
from viz_encoder.audit.faults import changed_tokens, gradients, padding, pooled, weights
from viz_encoder.audit.faults.ignored import find_ignored
from viz_encoder.audit.measure.changes import first_nonfinite
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.setting import Case, ModelFault, RowsLost
from viz_encoder.audit.question import SEEN_FIRST, question
from viz_encoder.audit.report import Check, Verdict, fails, is_sure, passes, raised, untested
from viz_encoder.shown import continued

ROWS = 8  # differentiated at each length
TELLING = (29, 25)  # few enough to look at each part; lengths that were shares of them show


@question("Other lengths", after=f"{SEEN_FIRST} grad_mode", order=180, compares=True)
def lengths(context: AuditContext) -> Check:
    """Maps in full, some gradients, some changed tokens and padding, at each length."""
    done: list[int] = []
    refused, longest = "", context.scope.max_positions
    # A fault is new where it says more than a warning that the first length has given, too.
    warned = context.answers["padding_invariance"].verdict is Verdict.WARN
    new = (Verdict.FAIL,) if warned else (Verdict.FAIL, Verdict.WARN)
    for length in context.other_lengths:
        context.lengths_tried.append(length)
        try:
            case = context.setting.case(context.setting.padding(length))
            out = context.subject.run(case)
        except ModelFault as fault:
            if context.scope.lengths or (longest is not None and length <= longest):
                return raised(fault, f"At {length} tokens")
            if isinstance(fault, RowsLost):
                told = _unless_made_up(context, raised(fault, f"At {length} tokens"), length)
                return told if done else _advised(context, told, length)
            refused = f"{length} tokens: {fault}"
            continue
        found = _find_fault(context, case, out)
        if found is not None and found.verdict in new:
            text = f"At {length} tokens: {continued(found.evidence)}"
            told = _unless_made_up(context, found.but(evidence=text), length)
            return told if done else _advised(context, told, length)
        done.append(length)
    if not done:
        return untested(f"Other lengths: {refused or 'none was asked for'}.")
    more = f" Refused: {refused}." if refused else ""
    return passes(f"At {', '.join(map(str, done))} tokens it holds as well.{more}")


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
    told = sure or found.verdict is not Verdict.FAIL or context.failed(*SEEN_FIRST.split())
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
