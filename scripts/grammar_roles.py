"""Which head of `grammar` does what: by attention, by patching and by removing it, rule by rule.

Run it to print the table of docs/effects.md: python -m scripts.grammar_roles
"""

import random
from dataclasses import dataclass

import numpy as np

import viz_encoder as vz
from scripts import grammar as language
from viz_encoder.checkpoints import LoadedEncoder

N_SENTENCES = 25  # of each rule, held out from training
SEED = 2024
OTHER_BRACKET = {"(": "[", "[": "{", "{": "(", ")": "]", "]": "}", "}": ")"}
COLUMNS = ("Rule", "Looks at the deciding word", "Noising", "Denoising", "Removing it")
HEADER = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


@dataclass(frozen=True)
class Twin:
    """A sentence with one place masked, and its twin in which the deciding word is another."""

    clean: str
    other: str
    mask: int  # token numbers: [CLS] is 0
    source: int


def twins(rule: str, n_sentences: int = N_SENTENCES, seed: int = SEED) -> list[Twin]:
    """Held-out sentences and their twins; none in which the deciding word decides twice."""
    rng = random.Random(seed)
    found: list[Twin] = []
    while len(found) < n_sentences:
        made = language.draw(rule, rng, held_out=True)
        at = rng.choice(sorted(made.answers))
        source = made.sources[at]
        if sum(other == source for other in made.sources.values()) > 1:
            continue
        words = [*made.words[:at], "[MASK]", *made.words[at + 1 :]]
        changed = [*words[:source], _other(words[source], rng), *words[source + 1 :]]
        found.append(Twin(" ".join(words), " ".join(changed), at + 1, source + 1))
    return found


def _other(word: str, rng: random.Random) -> str:
    """A word in whose place the rule asks for another answer."""
    if word in language.NUMBER:
        forms = next(forms for forms in language.NOUNS if word in forms)
        return forms[1 - forms.index(word)]
    if word in language.PRONOUN:
        people = (p for p in language.PERSONS if language.PRONOUN[p] != language.PRONOUN[word])
        return rng.choice(sorted(people))
    if word in OTHER_BRACKET:
        return OTHER_BRACKET[word]
    return rng.choice([letter for letter in language.LETTERS if letter != word])


def looking(encoder: LoadedEncoder, pairs: list[Twin]) -> np.ndarray:
    """For each head, how often the masked place looks most at the deciding word."""
    hits = np.zeros((encoder.config.n_layers, encoder.config.n_heads))
    for pair in pairs:
        trace = vz.capture(encoder, pair.clean)
        for layer in range(trace.n_layers):
            row = trace.attention(layer)[:, pair.mask]
            hits[layer] += (row.argmax(dim=-1) == pair.source).numpy()
    return hits / len(pairs)


def answered(encoder: LoadedEncoder, pairs: list[Twin]) -> list[Twin]:
    """The pairs between which the model's answer changes."""
    said = [
        [
            vz.analyses.predictions(encoder, vz.capture(encoder, text), n=1)[0].labels[0]
            for text in (pair.clean, pair.other)
        ]
        for pair in pairs
    ]
    return [pair for pair, (one, two) in zip(pairs, said, strict=True) if one != two]


def row(encoder: LoadedEncoder, rule: str) -> str:
    """The line of one rule."""
    pairs = twins(rule)
    looks = looking(encoder, pairs)
    differ = answered(encoder, pairs)
    clean, other = [pair.clean for pair in differ], [pair.other for pair in differ]
    noising = vz.patch(encoder, clean, other)
    denoising = vz.patch(encoder, clean, other, direction="denoising")
    removed = vz.effect(encoder, clean)
    flips = np.array(
        [
            [[name != untouched for name in layer] for layer in answers]
            for answers, (untouched, _) in zip(removed.answers, removed.untouched, strict=True)
        ]
    ).mean(axis=0)
    cells = (
        _largest(looks, "{:.0%} of sentences"),
        _largest(noising.mean, "{:.0%} of the change"),
        _largest(denoising.mean, "{:.0%} of the change"),
        _largest(flips, "flips {:.0%}"),
    )
    return f"| {rule} | {' | '.join(cells)} |"


def _largest(values: np.ndarray, words: str) -> str:
    layer, head = np.unravel_index(values.argmax(), values.shape)
    return f"{layer}.{head}: {words.format(values[layer, head])}"


def table() -> str:
    """The whole table."""
    encoder = vz.load("grammar", device="cpu")
    return "\n".join([HEADER, *(row(encoder, rule) for rule in language.RULES)])


if __name__ == "__main__":
    print(table())
