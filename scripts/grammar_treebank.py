"""Writes assets/examples/grammar.conllu: sentences of `grammar`, one masked word each, its source.

In each sentence one word that a rule decides is masked; it depends on the word that decides it, and
the relation is the rule. All sentences are held out from training.
Run it with: python -m scripts.grammar_treebank
"""

import random
from pathlib import Path

from scripts import grammar as language

N_SENTENCES = 100  # of each rule
SEED = 1234
PATH = Path(__file__).parents[1] / "assets/examples/grammar.conllu"


def lines() -> list[str]:
    rng = random.Random(SEED)
    found = []
    for rule in language.RULES:
        for _ in range(N_SENTENCES):
            made = language.draw(rule, rng, held_out=True)
            at = rng.choice(sorted(made.answers))
            for number, word in enumerate(made.words, 1):
                masked = number - 1 == at
                arc = (str(made.sources[at] + 1), rule) if masked else ("_", "_")
                form = "[MASK]" if masked else word
                found.append("\t".join([str(number), form, *"____", *arc, "_", "_"]))
            found.append("")
    return found


if __name__ == "__main__":
    PATH.write_text("\n".join(lines()) + "\n", encoding="utf-8")
