"""Results of an audit: what a check finds, a verdict, the report, pictures of the worst case."""

import json
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from viz_encoder.audit.measure.changes import Gap
from viz_encoder.audit.measure.setting import ModelFault
from viz_encoder.errors import MaskError
from viz_encoder.result import Columns, TableResult
from viz_encoder.shown import OneLine, facts_html, one_line, rows_html


class Verdict(StrEnum):
    """The verdict of a check or of a report; FAIL and ERROR are red."""

    PASS = "PASS"
    FAIL = "FAIL"
    WARN = "WARN"
    INFO = "INFO"
    NOT_TESTED = "NOT TESTED"
    ERROR = "ERROR"  # the check itself crashed: nothing is known, so the report is red

    @property
    def is_red(self) -> bool:
        """Whether it stops a test."""
        return self in (Verdict.FAIL, Verdict.ERROR)


@dataclass(frozen=True, eq=False, repr=False)
class Picture(OneLine):
    """The worst layer and head: intended, passed and observed mask, True = may attend."""

    title: str
    intended: Bool[np.ndarray, "query key"]
    observed: Float[np.ndarray, "query key"]  # weights, or gradients relative to their row
    observed_is: str  # "weights" or "gradients"
    leaks: Bool[np.ndarray, "query key"]  # looked at, and forbidden
    lost: Bool[np.ndarray, "query key"]  # allowed, and never looked at
    passed: Bool[np.ndarray, "query key"] | None = None  # what the code passed, where decodable
    passed_as: str = ""  # how it was read: "True = may attend", "added to the scores" …
    layer: int | None = None
    head: int | None = None
    sample: int = 0


class Learned(NamedTuple):
    """What a check tells those after it, besides its answer."""

    stops: str = ""  # why nothing more can be asked
    deeper: bool = False  # more layers may attend than were seen, so their number is unknown
    noise: float = 0.0  # how much samples differ in a batch and alone, without any padding
    shared: bool = False  # samples share a capacity, so that outputs differ with the batch
    lengths: tuple[int, ...] = ()  # that were tried besides the first


NOTHING = Learned()


@dataclass(frozen=True, repr=False)
class Check(OneLine):
    """One question to the model, and the answer with its evidence."""

    verdict: Verdict
    evidence: str  # a sentence with numbers
    cause: str = ""  # "consistent with …" where it is not certain
    cure: str = ""
    code: str = ""  # a stable identifier of the cause, such as "inverted"
    layer: int | None = None
    head: int | None = None
    sample: int | None = None
    query: int | None = None
    key: int | None = None
    amount: float | None = None  # how much: a weight, a relative gradient or a difference
    pictures: tuple[Picture, ...] = ()  # in the report's own, too
    name: str = ""  # a stable identifier, such as "gradient"
    title: str = ""
    follows_from: str = ""  # the earlier check of which this is a consequence
    proves: str = field(default="", repr=False, compare=False)  # the kind of evidence
    part: str = field(default="", repr=False, compare=False)  # what of a model it judges
    learned: Learned = field(default=NOTHING, repr=False, compare=False)

    def but(self, **changes: Any) -> "Check":
        """The same, with these fields changed."""
        return replace(self, **changes)

    def at(self, apart: Gap) -> "Check":
        """Add where two outputs differ most, and by how much."""
        return self.but(sample=apart.sample, query=apart.query, amount=apart.amount)

    def because(self, diagnosis: "Diagnosis") -> "Check":
        """Add the cause and fix."""
        return self.but(code=diagnosis.code, cause=diagnosis.cause, cure=diagnosis.cure)

    def advised(self, advice: str) -> "Check":
        """Add a sentence to the fix."""
        return self.but(cure=f"{self.cure} {advice}".strip())

    def to_dict(self) -> dict[str, Any]:
        """Nonempty fields but the pictures, for JSON."""
        found = {name: getattr(self, name) for name in COLUMNS}
        found["verdict"] = str(self.verdict)
        if self.amount is not None and not np.isfinite(self.amount):
            found["amount"] = str(self.amount)
        return {name: value for name, value in found.items() if value not in (None, "")}


COLUMNS = (
    *("name", "title", "verdict", "evidence", "cause", "cure", "code"),
    *("layer", "head", "sample", "query", "key", "amount", "follows_from"),
)


@dataclass(frozen=True, eq=False, repr=False)
class MaskReport(TableResult):
    """Findings of an audit; print(report) shows all of it, to_frame() has one line per check."""

    verdict: (
        Verdict  # PASS, WARN, FAIL or ERROR; NOT TESTED where no layer, or not each, was judged
    )
    sentence: str
    checks: tuple[Check, ...]
    not_tested: tuple[str, ...] = ()
    seconds: float = 0.0
    pictures: tuple[Picture, ...] = ()  # the worst first

    @property
    def ok(self) -> bool:
        """Whether it was judged where tokens look, and nothing is red."""
        return self.verdict in (Verdict.PASS, Verdict.WARN)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The red checks, the earliest first, without those that only follow from another."""
        return tuple(c for c in self.checks if c.verdict.is_red and not c.follows_from)

    def check(self, name: str) -> Check:
        """The check of that name.

        Raises:
            KeyError: there is none.
        """
        return {check.name: check for check in self.checks}[name]

    def columns(self) -> Columns:
        """One line per check, with all that `Check` tells but its pictures."""
        found = {name: [getattr(check, name) for check in self.checks] for name in COLUMNS}
        return found | {"verdict": [str(check.verdict) for check in self.checks]}

    def to_json(self, indent: int | None = 2) -> str:
        """The report without its pictures, as JSON."""
        found = {
            "verdict": str(self.verdict),
            "sentence": self.sentence,
            "checks": [check.to_dict() for check in self.checks],
            "not_tested": list(self.not_tested),
            "seconds": round(self.seconds, 3),
        }
        return json.dumps(found, indent=indent, ensure_ascii=False)

    def __repr__(self) -> str:
        """One line: the verdict, the number of checks, and the failed ones."""
        red = ", ".join(check.name for check in self.failed)
        failed = f": {red}" if red else ""
        return one_line(f"<MaskReport {self.verdict}, {len(self.checks)} checks{failed}>")

    def _repr_html_(self) -> str:
        """The verdict and a line for each check that says something, for a notebook."""
        facts = facts_html(f"{self.verdict}: {self.sentence}", {})
        told = [c for c in self.checks if c.verdict is not Verdict.NOT_TESTED]
        rows = [(c.verdict, c.title, c.evidence, c.cause, c.cure) for c in told]
        return facts + rows_html(("Verdict", "Check", "Evidence", "Cause", "Fix"), rows)

    def __str__(self) -> str:
        """The sentence, then the checks, those that follow from an earlier one folded."""
        lines = [f"{self.verdict}: {self.sentence}", ""]
        for check in self.checks:
            if not check.follows_from and check.verdict is not Verdict.NOT_TESTED:
                lines += _lines(check)
                followers = [c.title for c in self.checks if c.follows_from == check.name]
                if followers:
                    told = "also red, probably by the same fault"
                    lines.append(f"{'':14}└ {told}: {'; '.join(followers)}")
        if self.not_tested:
            lines += ["", "Not tested:", *(f"  - {what}" for what in self.not_tested)]
        return "\n".join([*lines, "", f"{self.seconds:.2f} s"])


def _lines(check: Check) -> list[str]:
    lines = [f"  {check.verdict!s:10}  {check.title}: {check.evidence}"]
    lines += [f"{'':14}cause: {check.cause}"] if check.cause else []
    if check.cure:
        cure = check.cure.replace("\n", f"\n{'':20}")
        lines.append(f"{'':14}fix:   {cure}")
    return lines


def assert_ok(report: MaskReport) -> None:
    """Raise what the report says if it is red or judged nothing.

    Raises:
        MaskError: the report is FAIL, ERROR or NOT TESTED.
    """
    if not report.ok:
        raise MaskError(str(report), report)


UNSURE = "consistent with: "  # before a cause that is one of several


class Diagnosis(NamedTuple):
    """A cause by its code, and what to say about it."""

    code: str = ""
    cause: str = ""
    cure: str = ""


def is_sure(cause: str) -> bool:
    """Whether the cause is certain."""
    return not cause.startswith(UNSURE)


def unsure(cause: str) -> str:
    """The cause as one of several; "" if there is none."""
    return f"{UNSURE}{cause}" if cause and is_sure(cause) else cause


def passes(evidence: str) -> Check:
    """Nothing wrong was found."""
    return Check(Verdict.PASS, evidence)


def fails(evidence: str, **where: Any) -> Check:
    """What is wrong, with layer=, head=, sample=, query=, key= and amount= of where."""
    return Check(Verdict.FAIL, evidence, **where)


def untested(why: str) -> Check:
    """Nothing can be said, with the reason."""
    return Check(Verdict.NOT_TESTED, why)


def raised(fault: ModelFault, where: str = "", title: str = "") -> Check:
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
    return Check(Verdict.FAIL, text, cure=fault.cure)
