"""Answer: what a check of the audit found, before it has the check's name."""

from typing import NamedTuple

from viz_encoder.audit.diagnose.diagnosis import Diagnosis
from viz_encoder.audit.report import Picture, Verdict


class Answer(NamedTuple):
    """What a check found; the fields of Check without its name."""

    verdict: Verdict
    evidence: str
    cause: str = ""
    cure: str = ""
    code: str = ""
    layer: int | None = None
    head: int | None = None
    sample: int | None = None
    query: int | None = None
    key: int | None = None
    amount: float | None = None
    pictures: tuple[Picture, ...] = ()

    def because(self, diagnosis: Diagnosis) -> "Answer":
        """With its cause and fix."""
        return self._replace(code=diagnosis.code, cause=diagnosis.cause, cure=diagnosis.cure)


def passes(evidence: str) -> Answer:
    """Nothing wrong was found."""
    return Answer(Verdict.PASS, evidence)


def untested(why: str) -> Answer:
    """Nothing can be said, and why."""
    return Answer(Verdict.NOT_TESTED, why)
