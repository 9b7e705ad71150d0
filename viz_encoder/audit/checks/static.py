"""Checks the passed mask on its own, before anything runs."""

from typing import Any

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.passed_mask import MaskReading, readings, suspicions
from viz_encoder.audit.measure.flex_masks import is_flex, leaves_in, name_of
from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.question import question
from viz_encoder.audit.report import Check, Verdict, passes


@question("The mask as it is passed", order=10, suspects=True)
def static(context: AuditContext) -> Check:
    """Dtype, values, rows with nothing to attend to, and which reading is the intent."""
    case = context.base
    found = [one for one in suspicions(case.passed, case.valid) if one.code != "constant"]
    worst = found[0] if found else None
    if worst is not None and worst.sure:
        return Check(Verdict.FAIL, _upper(worst.evidence)).because(diagnose(worst.code))
    empty = _empty_row(case)
    if empty is not None:
        sample, query = empty
        text = (
            f"Row {query} of sample {sample} is a real token, and your intent lets it attend to "
            "nothing."
        )
        cure = "Give the row one key, itself, or leave the token out of valid."
        return Check(Verdict.WARN, text, cure=cure, sample=sample, query=query)
    if worst is not None and worst.code in ("saturated", "block_mask"):
        return Check(Verdict.WARN, _upper(worst.evidence)).because(diagnose(worst.code))
    text = _said(case)
    if worst is not None:
        text = f"{_upper(worst.evidence)}: if it is added, it masks nothing."
        return Check(Verdict.INFO, text, code=worst.code)
    return passes(text)


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
    meant = [one for one in readings(case.passed, case.valid) if _is_intent(one, case)]
    text = f"Passed: {'; '.join(kinds)}."
    if meant:
        senses = dict.fromkeys(one.sense for one in meant)
        text += f" It matches your intent if read as {' or '.join(senses)}."
    return text


def _is_mask(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) or is_flex(leaf)


def _kind(tensor: Any) -> str:
    if not isinstance(tensor, Tensor):
        return name_of(tensor)
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"


def _is_intent(reading: MaskReading, case: Case) -> bool:
    same = (reading.allowed == case.allowed[0])[case.valid]
    return len(case.allowed) == 1 and bool(same.all())
