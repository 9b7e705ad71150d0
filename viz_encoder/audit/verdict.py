"""Combines all checks' answers into one verdict, folding those that follow from earlier ones."""

import traceback
from collections.abc import Iterator

from viz_encoder.arguments import Progress
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.checks import QUESTIONS
from viz_encoder.audit.diagnose.diagnosis import UNKNOWN
from viz_encoder.audit.judged import Judged, Share, how_much_was_judged
from viz_encoder.audit.measure.setting import ModelFault
from viz_encoder.audit.question import Question
from viz_encoder.audit.report import NOTHING, Check, MaskReport, Verdict, passes, raised, untested
from viz_encoder.errors import InputError
from viz_encoder.shown import continued

WORST = (Verdict.FAIL, Verdict.ERROR, Verdict.WARN)
GREEN = (Verdict.PASS, Verdict.WARN)
JUDGING = tuple(question.name for question in QUESTIONS if question.judges)
WHOLE = "where they are meant to, and nowhere else"


def ask_all(
    context: AuditContext, questions: tuple[Question, ...], progress: Progress | None = None
) -> tuple[Check, ...]:
    """Every check without an answer, in order; one that crashes is an ERROR, never left out."""
    answers = context.answers
    for number, question in enumerate(questions):
        if question.name in answers:
            continue
        if progress is not None:
            progress(number / len(questions))
        if context.stopped and not question.runs_nothing:
            answer = untested(f"All other checks: {context.stopped}.")
        else:
            answer = _answer(context, question)
        answers[question.name] = _signed(answer, question)
    _confirm_suspicions(answers, questions)
    _soften_shared_capacity(answers, questions)
    other = context.other_side
    for question in questions:
        if question.other_side and other is not None and not context.stopped:
            sided = tuple(one for one in questions if not one.other_side)
            answers[question.name] = _signed(_on_other_side(context, other, sided), question)
    return tuple(_folded(context, question, answers[question.name]) for question in questions)


def _signed(answer: Check, question: Question) -> Check:
    named = {"name": question.name, "title": question.title, "part": question.part}
    return answer.but(proves=question.proves.name, **named)


def _on_other_side(
    context: AuditContext, other: AuditContext, questions: tuple[Question, ...]
) -> Check:
    """The worst that any check finds where padding stands before the tokens."""
    try:
        _ = other.out
    except ModelFault as fault:
        return raised(fault, title="Padding on the left")
    same = [one.name for one in questions if one.one_sided]
    other.answers |= {name: context.answers[name] for name in same}
    checks = [one for one in ask_all(other, questions) if one.name not in same]
    worst = [one for verdict in WORST for one in checks if one.verdict is verdict]
    own = [one for one in worst if not one.follows_from and not context.failed(one.name)]
    if not worst:
        return passes("With padding on the left every check finds the same.")
    found = other.answers[(own or worst)[0].name]
    text = f"With padding on the left: {continued(found.evidence)}"
    return found.but(evidence=text, learned=NOTHING)


def _untested_on_other_side(context: AuditContext) -> Iterator[str]:
    """Checks that were asked only with padding after the tokens."""
    other = context.other_side
    for name, answer in other.answers.items() if other is not None else ():
        first = context.answers[name].verdict
        if answer.verdict is Verdict.NOT_TESTED and first is not Verdict.NOT_TESTED:
            yield f"With padding on the left: {continued(answer.evidence)}"
    if other is not None and context.scope.step is not None:
        yield "A KV cache with padding on the right, after the prompt."


def _least_judged(context: AuditContext) -> Judged:
    """The smaller judged share of both padding sides."""
    judged, other = how_much_was_judged(context), context.other_side
    runs = other is not None and other.answers and not other.stopped
    there = how_much_was_judged(other) if other is not None and runs else judged
    if there.share.value <= judged.share.value:
        return judged
    return there._replace(but=f"with padding on the left, {there.but}" if there.but else "")


def _confirm_suspicions(answers: dict[str, Check], questions: tuple[Question, ...]) -> None:
    """Promote a cause that a tensor made likely, once a later check found its effect.

    A tensor that a call changes says nothing of what came after.
    """
    if any(one.corrupts and answers[one.name].verdict.is_red for one in questions):
        return
    for name in [one.name for one in questions if one.suspects]:
        suspect = answers[name]
        if not suspect.code or suspect.verdict.is_red:
            continue
        proof = [one for one in answers.values() if one.verdict.is_red and one.code == suspect.code]
        if proof:
            answers[name] = suspect.but(
                verdict=Verdict.FAIL, cause=proof[0].cause, cure=proof[0].cure
            )


def _shared(answers: dict[str, Check]) -> Check | None:
    """The answer that samples share a capacity, if one says so."""
    return next((one for one in answers.values() if one.learned.shared), None)


def _soften_shared_capacity(answers: dict[str, Check], questions: tuple[Question, ...]) -> None:
    """If samples share a capacity (MoE), outputs depend on the batch even with correct masks.

    Maps and gradients judge then; what only compares outputs cannot.
    """
    shared = _shared(answers)
    inside = (answers[one.name] for one in questions if one.judges and not one.compares)
    if shared is None or any(one.verdict.is_red for one in inside):
        return
    for answer in [answers[one.name] for one in questions if one.compares]:
        if answer.verdict is Verdict.FAIL:
            answers[answer.name] = answer.but(verdict=Verdict.WARN, cause=shared.cause)


def _answer(context: AuditContext, question: Question) -> Check:
    try:
        return _unless_nan(context, question, question.ask(context))
    except ModelFault as fault:
        return raised(fault, title=question.title)
    except InputError as fault:
        return Check(Verdict.ERROR, str(fault), cure="Fix the arguments of the audit.")
    except Exception as fault:
        last = traceback.extract_tb(fault.__traceback__)[-1]
        place = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        text = f"This check itself failed with {type(fault).__name__}: {fault} ({place})."
        cure = "Please report it; until then nothing is known about this point."
        return Check(Verdict.ERROR, text, cure=cure)


def _unless_nan(context: AuditContext, question: Question, answer: Check) -> Check:
    """The answer; that nothing could be judged where it compared what is NaN."""
    needs = question.compares or question.needs_numbers
    if answer.verdict not in (Verdict.PASS, Verdict.INFO) or not needs:
        return answer
    if context.stopped or not context.is_nonfinite:
        return answer
    return untested(f"{question.title}: could not be judged: the output is NaN.")


def _folded(context: AuditContext, question: Question, answer: Check) -> Check:
    """The answer with what it follows from."""
    follows = ""
    if answer.verdict in (Verdict.FAIL, Verdict.WARN):
        follows = next((one for one in question.explained_by if context.failed(one)), "")
        shared = _shared(context.answers)
        if not follows and shared and answer.verdict is Verdict.WARN and question.compares:
            follows = shared.name
    at_a_place = answer.verdict is Verdict.FAIL and answer.sample is not None
    if at_a_place and not answer.cause and not follows:  # what is raised is its own cause
        answer = answer.but(cause=UNKNOWN.cause)
    return answer.but(follows_from=follows)


def report_of(
    context: AuditContext, checks: tuple[Check, ...], notes: tuple[str, ...], seconds: float
) -> MaskReport:
    """The verdict, its sentence and the pictures of what failed, the worst first."""
    verdict = _verdict(checks)
    judged = _least_judged(context) if verdict in GREEN else Judged(Share.ALL)
    verdict = Verdict.NOT_TESTED if judged.share is Share.NONE else verdict
    pictures = [shot for answer in context.answers.values() for shot in answer.pictures]
    untested = [c.evidence for c in checks if c.verdict is Verdict.NOT_TESTED]
    elsewhere = () if context.stopped else _untested_on_other_side(context)
    return MaskReport(
        verdict,
        _sentence(verdict, checks, judged, context.scope.may_leave_out),
        checks,
        tuple(dict.fromkeys((*_upper(judged.but), *untested, *notes, *elsewhere))),
        seconds,
        tuple(pictures),
    )


def _verdict(checks: tuple[Check, ...]) -> Verdict:
    found = {check.verdict for check in checks}
    judged = any(c.verdict is not Verdict.NOT_TESTED for c in checks if c.name in JUDGING)
    usual = Verdict.PASS if judged else Verdict.NOT_TESTED
    return next((one for one in WORST if one in found), usual)


def _judged(check: Check) -> bool:
    """Whether it judged the model; what is only told did not, unless it judges all the same."""
    told = check.verdict is Verdict.INFO and check.name in JUDGING
    return check.verdict is Verdict.PASS or told


def _upper(but: str) -> tuple[str, ...]:
    return tuple(f"{one[0].upper()}{one[1:]}." for one in but.split("; ") if one)


def _sentence(
    verdict: Verdict, checks: tuple[Check, ...], judged: Judged, may_leave_out: bool = False
) -> str:
    own = [check for check in checks if check.verdict is verdict and not check.follows_from]
    n_made = sum(map(_judged, checks))
    if verdict is Verdict.PASS and judged.share is Share.ALL:
        told = "nowhere but where they may" if may_leave_out else WHOLE
        return f"Tokens look {told}, in all {n_made} checks."
    if judged.but and verdict is not Verdict.WARN:
        return f"Nothing wrong was found in {n_made} checks. Not judged: {judged.but}."
    if verdict is Verdict.NOT_TESTED:
        why = next(check.evidence for check in checks if check.name in JUDGING)
        return f"Nothing was judged: no check could see where tokens look. {why}"
    first = own[0] if own else next(c for c in checks if c.verdict is verdict)
    if verdict is Verdict.WARN:
        start = "No token looks where it may not" if judged.share is Share.ALL else "Nothing is red"
        return f"{start}, but: {first.evidence}"
    cause = f" Cause: {first.cause}" if first.cause else ""
    more = f" {len(own) - 1} more checks fail on their own." if len(own) > 2 else ""
    more = " One more check fails on its own." if len(own) == 2 else more
    return f"{first.evidence}{cause}{more}"
