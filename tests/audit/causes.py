"""Which cause the audit names for each bug, and how right it is."""

from functools import cache

import viz_encoder as vz
from tests.audit import branch_cases, planted_cases, public_cases, swin_cases
from tests.audit.cause_cases import CASES as KNOWN
from tests.audit.cause_cases import CauseCase
from tests.shape_checks import shapes_checked
from viz_encoder.audit import Check, MaskReport
from viz_encoder.audit.diagnose.diagnosis import causes

KINDS = (planted_cases, public_cases, swin_cases, branch_cases)
PUBLIC = [one for kind in KINDS for one in kind.cases()]
MENDED = [one for kind in KINDS for one in kind.cases(mended=True)]
CASES: dict[str, CauseCase] = {**KNOWN, **{one.name: one for one in PUBLIC}}


@cache
def report_of(name: str) -> MaskReport:
    return audit(CASES[name])


def audit(case: CauseCase) -> MaskReport:
    model, make_mask = case.build()
    options = {"d_model": 8, "n_layers": 2, **case.options}
    with shapes_checked(False):
        return vz.audit_mask(model, case.intent, make_mask, **options)


def first_of(name: str) -> Check | None:
    """What the report begins with: its first red check that follows from no other."""
    return next(iter(report_of(name).failed), None)


def grade(name: str) -> str:
    """How right its cause is: "right", "near" (or one of several), "none", "wrong" or "missed".

    Where there is no known cause, "not known" is right, and whatever else is named is wrong.
    """
    case, found = CASES[name], first_of(name)
    if found is None:
        return "missed"
    if not found.code or found.code in ("mixing", "not_seen"):
        if not case.right and not case.near and found.cause.startswith("not known"):
            return "right"
        return "near" if found.code in case.near and case.near else "none"
    if found.code in case.right:
        return "right" if not found.cause.startswith("consistent with") else "near"
    if found.code in case.near:
        return "near"
    unsure = found.cause.startswith("consistent with")
    named = any(_words(code) in found.cause for code in (*case.right, *case.near))
    return "near" if unsure and named else "wrong"


def _words(code: str) -> str:
    return causes()[code].sentence if code in causes() else "\0"
