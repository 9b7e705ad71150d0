"""The mask as it is passed, before anything runs, and the numbers that mask in it or in code."""

import math
from contextlib import suppress
from typing import Any

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.banned import measured
from viz_encoder.audit.diagnose.diagnosis import diagnose, diagnose_constant
from viz_encoder.audit.diagnose.passed_mask import Suspicion, readings, suspicions
from viz_encoder.audit.measure.constants import gets_in, too_small
from viz_encoder.audit.measure.flex_masks import is_flex, leaves_in, name_of
from viz_encoder.audit.measure.setting import MASS, Case, ModelFault
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, Verdict, fails, passes, untested
from viz_encoder.trace.left_out import is_compiled


@question("The mask as it is passed", Evidence.PASSED, before="in_place", suspects=True)
def static(context: AuditContext) -> Check:
    """Dtype, values, rows with nothing to attend to, and which reading is the intent."""
    case = context.base
    found = [one for one in suspicions(case.passed, case.valid) if one.code != "constant"]
    worst = found[0] if found else None
    if worst is not None and worst.sure:
        return fails(_upper(worst.evidence)).because(diagnose(worst.code))
    empty = _empty_row(case)
    if empty is not None:
        sample, query = empty
        text = (
            f"Row {query} of sample {sample} is a real token, and your intent lets it attend to "
            "nothing."
        )
        cure = "Give the row one key, itself, or leave the token out of valid."
        return Check(Verdict.WARN, text, cure=cure, sample=sample, query=query)
    if worst is None:
        return passes(_said(case))
    if worst.code in ("saturated", "block_mask"):
        return Check(Verdict.WARN, _upper(worst.evidence)).because(diagnose(worst.code))
    text = f"{_upper(worst.evidence)}: if it is added, it masks nothing."
    return Check(Verdict.INFO, text, code=worst.code)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _empty_row(case: Case) -> tuple[int, int] | None:
    for allowed in case.allowed:
        empty = (case.valid & ~allowed.any(dim=-1)).nonzero()
        if len(empty):
            return int(empty[0, 0]), int(empty[0, 1])
    return None


def _said(case: Case) -> str:
    tensors = [leaf for leaf in leaves_in(case.passed) if _is_mask(leaf[1])]
    if not tensors:
        return f"Nothing that could be a mask is passed ({type(case.passed).__name__})."
    kinds = [f"{_kind(tensor)}{f' as {where}' if where else ''}" for where, tensor in tensors]
    allowed, read = case.allowed[0], readings(case.passed, case.valid)
    meant = [one for one in read if bool((one.allowed == allowed)[case.valid].all())]
    text = f"Passed: {'; '.join(kinds)}."
    if meant and len(case.allowed) == 1:
        senses = dict.fromkeys(one.sense for one in meant)
        text += f" It matches your intent if read as {' or '.join(senses)}."
    return text


def _is_mask(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) or is_flex(leaf)


def _kind(tensor: Any) -> str:
    if not isinstance(tensor, Tensor):
        return name_of(tensor)
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"


VISIBLE = math.log(MASS)


@question("Masking constants", Evidence.SPOILED, after="runs", one_sided=True, suspects=True)
def constants(context: AuditContext) -> Check:
    """Constants in what is passed, and in the code that fills scores."""
    compiled = is_compiled(context.subject.whole.modules())
    try:
        if (passed := _passed(context, compiled)) is not None:
            text = f"T{passed.evidence[1:]}."
            return Check(Verdict.WARN, text).because(diagnose_constant(passed.value))
        if compiled:
            return untested("Masking constants: the model is compiled, and its code is not seen.")
        found = _in_code(context, context.base)
    except ModelFault as fault:
        return untested(f"Masking constants: while being recorded, the model raised {fault}.")
    return (
        found
        or _at_other_lengths(context)
        or passes("No masking constant is above -100,000, as far as the code shows.")
    )


def _in_code(context: AuditContext, case: Case, at: str = "") -> Check | None:
    """A number in the code, or what softmax shows of one, on one batch."""
    value = too_small(context.subject, case, grad=not context.grad_fault)
    if value is not None:
        return _warning(value, f"The code masks with {value:g}{at}.")
    if (kept := _kept(context, case)) is None:
        return None
    return _warning(
        kept,
        f"A masked score is {kept:.3g}{at} when softmax runs, so masked keys keep a small weight, "
        "which grows with the inputs.",
    )


def _warning(value: float, text: str) -> Check:
    return Check(Verdict.WARN, text, amount=value).because(diagnose_constant(value))


def _at_other_lengths(context: AuditContext) -> Check | None:
    """The first that only another length shows, of those at which the model must be right."""
    for case, _ in context.other_cases():
        with suppress(ModelFault):
            found = _in_code(context, case, f" {case.at_length}")
            if found is not None and context.was_asked_for(case.valid.shape[1]):
                return found
    return None


def _passed(context: AuditContext, compiled: bool) -> Suspicion | None:
    """The first mask that is passed with such a number, and not only compared where that shows."""
    case, grad = context.base, not context.grad_fault
    for one in suspicions(case.passed, case.valid):
        if one.tensor is not None and (
            compiled or gets_in(context.subject, case, one.tensor, one.value, grad=grad)
        ):
            return one
    return None


def _kept(context: AuditContext, case: Case) -> float | None:
    """The score that forbidden pairs have, where no number in the code shows it, as after a cap.

    A larger one is a leak, which the maps show.
    """
    layers = context.maps_on(case, flat=True).layers
    if len(case.allowed) not in (1, len(layers)):
        return None
    each = (measured(context, case, number) for number in range(len(layers)))
    return next((one for one in each if one is not None and one < VISIBLE), None)
