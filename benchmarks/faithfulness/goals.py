"""What was to be reached, what was measured, and why where it was not."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.faithfulness import cost, deletion, grammar

Rows = Mapping[str, Sequence[str]]
LEFT_OUT = "leave one out ([MASK], gray)"
EARLY = (
    "the two largest effects are of heads of layer 0 that look hard at the word; they carry a third of "
    "what removing them changes, probably because later heads then look elsewhere; over all other heads it is "
    "{0} and {1}"
)
TOGETHER = (
    "a state is made of more than what a twin changes, and patching asks for the change alone"
)
CALLS = (
    "at so few tokens its matrix products alone, forward and backward, take 1.6 forward passes; the "
    "rest is calls from Python, function by function"
)
AGAIN = "attention is most of the work, and its weights are computed again, without a fused kernel"
MOVED = "gradients times values is a product as large as queries times keys, and both are needed"
SHORT = 128


def goals(words: Rows, heads: Rows, found: Mapping[str, Any]) -> dict[str, list[str]]:
    """Cells by goal: measured, whether it was reached, and why not."""
    twins = [float(cell) for name in grammar.TWINS for cell in words[f"vz.attribute, {name}"][:4]]
    state, best = (float(rows["vz.attribute, the state"][4]) for rows in (words, heads))
    rows = {
        "against a twin, the deciding word first in ≥ 0.99, each rule": _least(twins, 0.99, ""),
        "without twin or prediction head, MRR of words ≥ 0.95": _least([state], 0.95, ""),
        "the same, MRR of heads ≥ 0.95": _least([best], 0.95, TOGETHER),
    }
    for name, cells in found["heads"].items():
        gap = [float(cells[0]) - float(cells[4])]
        said = f"{cells[0]} and {cells[4]}"
        rows[f"shares nearer to effects than the weight on the word: {name}"] = _least(
            gap, 0, EARLY.format(*cells[7:9]), said
        )
    ours, other = (
        found["deletion"][row] for row in (f"vz.attribute, {deletion.SETTINGS[0]}", LEFT_OUT)
    )
    for at, top in ((1, 2), (2, 3), (4, 2), (5, 3)):
        way = "masked" if at < 3 else "removed"
        gap, said = [float(ours[at]) - float(other[at])], f"{ours[at]} and {other[at]}"
        rows[f"MiniLM, no lower than leaving one out: top {top} {way}"] = _least(gap, 0, "", said)
    return rows | _costs(found)


def _costs(found: Mapping[str, Any]) -> dict[str, list[str]]:
    each = {n: found[f"cost {n}"] for n in cost.LENGTHS if f"cost {n}" in found}
    rows = {}
    for name, what, most, why in (
        ("attribute", "vz.attribute ≤ 3 forward passes", 3, AGAIN),
        ("links", "a map of links ≤ 2 maps of weights", 2, MOVED),
    ):
        for n, values in each.items():
            gap, cause = [most - values[name]], CALLS if n < SHORT else why
            rows[f"{what}, {n:,} tokens"] = _least(gap, 0, cause, f"{values[name]:.2f}")
    short, long = (list(each)[at] for at in (-2, -1))
    growth = each[long]["peak"] / each[short]["peak"]
    said = f"× {growth:.1f} from {short:,} to {long:,}"
    rows["peak memory linear in tokens"] = _least([1.1 * long / short - growth], 0, "", said)
    return rows


def _least(values: Sequence[float], least: float, why: str, said: str = "") -> list[str]:
    reached = min(values) >= least
    return [
        said or f"{min(values):g}",
        "reached" if reached else "not reached",
        "" if reached else why,
    ]
