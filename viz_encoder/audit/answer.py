"""Answer: what a check of the audit found, before it has its name, and the cause it is given."""

from typing import NamedTuple

from viz_encoder.audit.measure.setting import ModelFault
from viz_encoder.audit.report import Picture, Verdict

UNSURE = "consistent with: "  # before a cause that is one of several


class Diagnosis(NamedTuple):
    """A cause by its code, and what to say about it."""

    code: str = ""
    cause: str = ""
    cure: str = ""


class Answer(NamedTuple):
    """A check's finding: the fields of Check without its name."""

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
        """Add the cause and fix."""
        return self._replace(code=diagnosis.code, cause=diagnosis.cause, cure=diagnosis.cure)

    def advised(self, advice: str) -> "Answer":
        """Add a sentence to the fix."""
        return self._replace(cure=f"{self.cure} {advice}".strip())


def is_sure(cause: str) -> bool:
    """Whether the cause is certain."""
    return not cause.startswith(UNSURE)


def unsure(cause: str) -> str:
    """The cause as one of several; "" if there is none."""
    return f"{UNSURE}{cause}" if cause and is_sure(cause) else cause


def passes(evidence: str) -> Answer:
    """Nothing wrong was found."""
    return Answer(Verdict.PASS, evidence)


def untested(why: str) -> Answer:
    """Nothing can be said, with the reason."""
    return Answer(Verdict.NOT_TESTED, why)


def raised(fault: ModelFault, where: str = "", title: str = "") -> Answer:
    """The model raised where it must not; nothing is known if it was torch.compile that gave up.

    An audit's many sizes reach its limit of recompilations.

    Args:
        fault: what it raised.
        where: such as "At 12 tokens".
        title: the check's, for where that is not said.
    """
    cause = fault.__cause__
    if type(cause).__module__.startswith("torch._dynamo"):
        before = f"{where} " if where else f"{title}: " if title else ""
        return untested(
            f"{before}torch could not compile the model ({type(cause).__name__}); "
            'audit it before torch.compile, or under torch.compiler.set_stance("force_eager").'
        )
    text = f"{where} {fault.clause}." if where else fault.sentence
    return Answer(Verdict.FAIL, text, cure=fault.cure)
