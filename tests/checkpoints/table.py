"""python -m tests.checkpoints.table: measure every case of the table and write docs/families.md."""

import math
import tempfile
from pathlib import Path

import torch
import transformers

import viz_encoder as vz
from tests.checkpoints.cases import CASES
from tests.checkpoints.parity import TOLERANCE, Case, Differences, ask, compare, save

NONE = "·"
DOCUMENT = Path(__file__).parents[2] / "docs" / "families.md"
HEAD = """\
# Families, and how exactly they are loaded

Each line is a tiny random checkpoint with uneven weights, written as its own library writes it and
loaded by viz_encoder: three layers, heads not equal to layers, padding, lengths 1, 7 and the most
it reads; pictures at their trained size and at others. The figures are the largest differences
from the reference on real tokens: of every layer's hidden state and of every head's output as a
share of the largest value (· = none to compare), and of every map as it is. The limit is {limit};
the smallest real mistake we know is 7e-4. Each case's settings (such as ε, the activation's
variant, the window ± 1, the rotary base) were also loaded wrong, one at a time, and each was
seen: {wrong} of {wrong}.

Written by `python -m tests.checkpoints.table` with transformers {transformers}, torch {torch}.

| checkpoint | model_type | hidden states | maps | heads |
|---|---|---|---|---|
"""


def main() -> None:
    lines = [row(case, measured(case)) for case in CASES]
    head = HEAD.format(
        limit=f"{TOLERANCE:.0e}".replace("e-0", "e-"),
        wrong=sum(len(case.wrong) for case in CASES),
        transformers=transformers.__version__,
        torch=torch.__version__.partition("+")[0],
    )
    DOCUMENT.write_text(head + "\n".join(lines) + "\n")


def measured(case: Case) -> Differences:
    with tempfile.TemporaryDirectory() as folder:
        reference = save(case, Path(folder))
        encoder = vz.load(folder, device="cpu", part=case.part)
        return compare(encoder, ask(case, encoder, reference))


def row(case: Case, apart: Differences) -> str:
    heads = upwards(apart.heads) if apart.heads else NONE
    figures = (upwards(apart.hidden), upwards(apart.maps), heads)
    return f"| {case.name} | {case.model_type} | {' | '.join(figures)} |"


def upwards(share: float) -> str:
    """Rounded up to one digit, so that no figure is better than what was measured."""
    if share == 0:
        return "0"
    power = math.floor(math.log10(share))
    digit = math.ceil(share / 10**power)
    return f"{digit}e{power}" if digit < 10 else f"1e{power + 1}"


if __name__ == "__main__":
    main()
