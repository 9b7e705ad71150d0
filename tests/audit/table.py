"""python -m tests.audit.table: audit every specimen and correct model, and write docs/audit.md."""

import statistics
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
import transformers

from tests.audit import correct_more, transformers_zoo
from tests.shape_checks import shapes_checked
from viz_encoder.audit import MaskReport, Verdict, audit_mask
from viz_encoder.audit.zoo import CORRECT as OF_TORCH
from viz_encoder.audit.zoo import SPECIMENS as PLANTED
from viz_encoder.audit.zoo import MaskedModel

DOCUMENT = Path(__file__).parents[2] / "docs" / "audit.md"
SPECIMENS = dict(
    sorted(
        {**PLANTED, **transformers_zoo.SPECIMENS}.items(),
        key=lambda item: (item[0][0], int(item[0].partition("-")[0][1:])),
    )
)
CORRECT = {
    **OF_TORCH,
    **transformers_zoo.CORRECT,
    **correct_more.CORRECT,
}
SEEDS = 6
HEAD = """\
# Mask bugs, and what the audit says of them

`audit_mask` was run on {planted} planted bugs ({zoo} of the Mask zoo, the others in models of
transformers), on each of them with its one line mended, and on {correct} correct models; each was
drawn {seeds} times. Before you read the tables:

- The checks and the plants have the same authors, and the plants were known while the checks were
  written. So {caught} of {visible} caught is not a detection rate; read the list, not the number.
- The models are tiny and random: two or three layers, two heads, weights of standard deviation
  0.3, ordinary inputs. A large trained model may hide a leak that shows here.
- What cannot be seen from outside is listed as not caught, with the reason. False alarms are
  listed, too, and not tuned away.

"Seen by" is the check that must see the bug, with its verdict; "also by" are other checks that fail
by themselves. "Seconds" is the median time of an audit on one CPU thread of a machine that had
other work as well: compare these times with one another only.

Written by `python -m tests.audit.table` with torch {torch}, transformers {transformers}.

## Planted bugs

| plant | what is wrong | seen by | also by | caught | mended passes | seconds |
|---|---|---|---|---|---|---|
"""
CORRECT_HEAD = """
## Correct models

False alarms: {alarms} in {audits} audits (FAIL, ERROR or WARN){names}.

| model | passes | seconds |
|---|---|---|
"""


@dataclass(frozen=True)
class Row:
    """One line of a table, its time apart, for that is never the same twice."""

    cells: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        return f"| {' | '.join(self.cells)} | {self.seconds:.2f} |"


def audit(given: MaskedModel, seed: int) -> MaskReport:
    with shapes_checked(seed == 0), torch.random.fork_rng(devices=[]):  # a bug may draw
        torch.manual_seed(seed)
        return audit_mask(given.model, given.intent, given.make_mask, seed=seed, **given.options)


@cache
def of_specimen(identifier: str, seed: int, fixed: bool = False) -> MaskReport:
    return audit(SPECIMENS[identifier].build(seed, fixed=fixed), seed)


@cache
def of_correct(name: str, seed: int) -> MaskReport:
    return audit(CORRECT[name](seed), seed)


def is_caught(identifier: str, report: MaskReport) -> bool:
    """Whether the check that must see it gave the verdict that it must give."""
    specimen = SPECIMENS[identifier]
    if not specimen.flagged_by:
        return False
    check = report.check(specimen.flagged_by)
    return (str(check.verdict), str(report.verdict)) == (specimen.verdict, specimen.verdict)


def seen_of(identifier: str) -> tuple[str, ...]:
    """The plant, what is wrong, and which checks see it in the first draw."""
    specimen = SPECIMENS[identifier]
    failed = of_specimen(identifier, 0).failed
    others = [check.name for check in failed if check.name != specimen.flagged_by]
    seen = f"{specimen.flagged_by}: {specimen.verdict}" if specimen.flagged_by else "nothing"
    return identifier, specimen.title, seen, ", ".join(others) or "·"


def caught_of(identifier: str, seeds: int) -> int:
    """How many draws of a plant are caught."""
    return sum(is_caught(identifier, of_specimen(identifier, seed)) for seed in range(seeds))


def row_of(identifier: str, seeds: int) -> Row:
    """What the table says of a plant."""
    mended = [of_specimen(identifier, seed, True) for seed in range(seeds)]
    passes = sum(report.verdict is Verdict.PASS for report in mended)
    counts = (f"{caught_of(identifier, seeds)} of {seeds}", f"{passes} of {seeds}")
    seconds = statistics.median(of_specimen(identifier, seed).seconds for seed in range(seeds))
    return Row((*seen_of(identifier), *counts), seconds)


def row_of_correct(name: str, seeds: int) -> Row:
    reports = [of_correct(name, seed) for seed in range(seeds)]
    passes = sum(report.verdict is Verdict.PASS for report in reports)
    seconds = statistics.median(report.seconds for report in reports)
    return Row((name, f"{passes} of {seeds}"), seconds)


def missed() -> str:
    """The plants that no audit can see, and why."""
    reasons = [f"- {one.identifier}: {one.missed}" for one in SPECIMENS.values() if one.missed]
    return "\n## Not caught\n\n" + "\n".join(reasons) + "\n"


def head(seeds: int) -> str:
    visible = [one for one in SPECIMENS.values() if one.flagged_by]
    return HEAD.format(
        planted=len(SPECIMENS),
        zoo=len(PLANTED),
        correct=len(CORRECT),
        seeds=seeds,
        visible=len(visible),
        caught=sum(caught_of(identifier, seeds) == seeds for identifier in SPECIMENS),
        torch=torch.__version__.partition("+")[0],
        transformers=transformers.__version__,
    )


def main() -> None:
    torch.set_num_threads(1)
    rows = [row_of(identifier, SEEDS) for identifier in SPECIMENS]
    right = [row_of_correct(name, SEEDS) for name in CORRECT]
    quiet = sum(int(row.cells[1].partition(" ")[0]) for row in right)
    audits = SEEDS * len(CORRECT)
    text = head(SEEDS) + "".join(f"{row}\n" for row in rows) + missed()
    loud = [row.cells[0] for row in right if row.cells[1] != f"{SEEDS} of {SEEDS}"]
    names = f": {'; '.join(loud)}" if loud else ""
    text += CORRECT_HEAD.format(alarms=audits - quiet, audits=audits, names=names)
    DOCUMENT.write_text(text + "".join(f"{row}\n" for row in right))


if __name__ == "__main__":
    main()
