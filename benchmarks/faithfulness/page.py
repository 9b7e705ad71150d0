"""The page of results: a table a section, and what was to be reached."""

import platform
from collections.abc import Mapping, Sequence
from typing import Any

import captum
import torch

from benchmarks.faithfulness import cost, deletion, grammar, heads, scene
from benchmarks.faithfulness.goals import goals
from benchmarks.faithfulness.methods import methods
from scripts.grammar import RULES

Rows = Mapping[str, Sequence[str]]
COSTS = {
    each.name: each.cost for each in methods(*grammar.SETTINGS, *scene.SETTINGS, *deletion.SETTINGS)
}
HEAD = """# Faithfulness

Whether `vz.attribute` finds what an answer depends on, where that is known, beside other methods: AttnLRP by the rules of
lxt 2.1 and integrated gradients by captum {captum}, which share no code with it, and what attention alone says. Built-in
models, {machine}, one thread, torch {torch}. Written by `python -m benchmarks.faithfulness`."""
GRAMMAR = """## grammar: the word that decides

The little language says which word decides a masked one: {n} held-out sentences of each rule, drawn with a seed that
no other table has. Where it stands among all tokens but the masked one: the share of sentences in which it is first,
rule by rule, and the mean reciprocal rank over all. The twin is the sentence with the deciding word changed. Methods
that are not ours are asked for the model's answer minus its answer to the twin."""
HEADS = """### The head that patching names

The head whose output from the twin's run changes the answer most, found by patching each head on its own. Where it
stands among all 16 heads."""
SCENE = """## scene: the ink of a digit

{n} held-out digits on noise. The share of the positive values that lies on patches with ink, and how often the largest
does. A patch left out gets the picture's median gray, which is also where integrated gradients start: both
compare with a blank, and put more of their sum on ink than shares do, which also say what blank patches carried."""
DELETION = """## MiniLM: without the words that are named

{n} sentences of the shipped corpus, each asked for its cosine to the nearest other sentence. The words with the largest
values are replaced by [MASK], or removed; the mean drop of the cosine. At one masked word, leaving one out is best by
definition: it tried each."""
EFFECTS = """## Beside removing heads

Two texts of MiniLM that differ in one word, and the distance between the two final states of one token. Pearson's
correlation, over all 72 heads, of what is named with the effect: what removing the head from both runs takes off the
distance, its direction held; "first text alone" is the first run's part, along the same direction. The weight is that
of the token on the word that differs, which the shares are not told; the largest weight of its row knows as little as
they do. Shares and effects are asked alike: of one score, over both runs, along one direction, with the biases of a
head's values. Where the weight is nearer than the share, two heads of the first layer alone make it so: removing them
moves the weights of later heads, so they change more than they carry. Two columns leave these two out."""
COST = """## What it costs

MiniLM's shape with random weights: shares of tokens, states and heads together, as ratios of medians of processor time
to one plain forward pass; links are those of one head. Memory is the peak over what the process held before. Integrated
gradients have {steps} steps here, of which {part} are measured and scaled; leaving one out takes as many forward passes as
there are tokens, of which {part} are measured as a batch and scaled, both up to {longest} tokens."""
GOALS = "## What was to be reached"


def table(columns: Sequence[str], rows: Rows) -> str:
    """One line a row, whose name is its first cell."""
    head = f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|"
    return "\n".join([head, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items())])


def page(found: Mapping[str, Any]) -> str:
    """All sections, from what each process measured."""
    words, by_head = (_by_rule(found, kind) for kind in ("words", "heads"))
    n = len(next(iter(found[f"grammar {next(iter(RULES))}"]["words"].values())))
    lengths = {
        f"{n:,}": cost.cells(found[f"cost {n}"]) for n in cost.LENGTHS if f"cost {n}" in found
    }
    first = ("first: " + next(iter(RULES)), *list(RULES)[1:], "MRR")
    sizes = {"steps": cost.STEPS, "part": cost.PART, "longest": cost.LONGEST}
    drops = [f"{way} {top}" for way in ("masked", "removed") for top in deletion.TOPS]
    parts = [
        HEAD.format(captum=captum.__version__, machine=platform.machine(), torch=torch.__version__),
        GRAMMAR.format(n=n),
        table(("method", *first, "cost"), _costs(words)),
        HEADS,
        table(("heads by", *first), by_head),
        SCENE.format(n=scene.N_DIGITS),
        table(("method", "positive on ink", "largest on ink", "cost"), _costs(found["scene"])),
        DELETION.format(n=240 // deletion.EVERY),
        table(("method", *drops, "cost"), _costs(found["deletion"])),
        EFFECTS,
        table(heads.COLUMNS, found["heads"]),
        COST.format(**sizes),
        table(cost.COLUMNS, lengths),
        GOALS,
        table(("goal", "measured", "", "why"), goals(words, by_head, found)),
    ]
    return "\n\n".join(parts) + "\n"


def _by_rule(found: Mapping[str, Any], kind: str) -> dict[str, list[str]]:
    each = {rule: found[f"grammar {rule}"][kind] for rule in RULES}
    names = next(iter(each.values()))
    return {name: grammar.cells({rule: each[rule][name] for rule in RULES}) for name in names}


def _costs(rows: Rows) -> dict[str, list[str]]:
    return {name: [*cells, COSTS[name]] for name, cells in rows.items()}
