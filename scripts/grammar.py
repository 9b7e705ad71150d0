"""Sentences of the little language of viz_encoder/lesson/grammar.py, and what is right in them."""

import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from viz_encoder.lesson.grammar import (  # noqa: F401
    ADJECTIVES,
    BRACKETS,
    CONJUNCTIONS,
    COPULA,
    DEEDS,
    FEELINGS,
    LETTERS,
    NOUNS,
    NUMBER,
    PERSONS,
    PREPOSITIONS,
    PRONOUN,
    RUNNING,
    SEEING,
    SPECIAL,
    VOCABULARY,
    WORDS,
)

MAX_DEPTH, MAX_PAIRS, MAX_LETTERS, MAX_PHRASES = 4, 11, 9, 3
HELD_OUT_SHARE = 10  # one sentence in so many is never trained on


@dataclass
class Sentence:
    """Words, and for each place of which the rule speaks, what is right there and why.

    `answers` are all words that would be right if that one place alone were masked; `sources` is
    the place that decides it (the subject, the partner, the twin, the person meant).
    """

    words: list[str] = field(default_factory=list)
    answers: dict[int, frozenset[str]] = field(default_factory=dict)
    sources: dict[int, int] = field(default_factory=dict)

    def say(self, *words: str) -> None:
        """Add words of which the rule says nothing."""
        self.words += words

    def rule(self, at: int, source: int, *answers: str) -> None:
        """The word at this place must be one of the answers, because of that at the source."""
        self.answers[at], self.sources[at] = frozenset(answers), source

    def crosses(self, at: int) -> bool:
        """Whether a noun of the other number stands between this verb and its subject."""
        subject = self.sources[at]
        number = NUMBER[self.words[subject]]
        between = self.words[min(at, subject) : max(at, subject)]
        return any(NUMBER.get(word, number) != number for word in between)


def agreement(rng: random.Random) -> Sentence:
    """[P noun] noun [P noun … | that sees noun | that noun sees] (is adjective | runs)."""
    made = Sentence()
    if rng.random() < 0.3:
        made.say(rng.choice(PREPOSITIONS))
        _noun(made, rng)
    subject = _noun(made, rng)
    if rng.random() < 0.6:
        for _ in range(rng.randint(0, MAX_PHRASES)):
            made.say(rng.choice(PREPOSITIONS))
            _noun(made, rng)
    else:
        made.say("that")
        if rng.random() < 0.5:
            _verb(made, SEEING, subject, rng)
            _noun(made, rng)
        else:
            _verb(made, SEEING, _noun(made, rng), rng)
    if rng.random() < 0.6:
        _verb(made, COPULA, subject, rng)
        made.say(rng.choice(ADJECTIVES))
    else:
        _verb(made, RUNNING, subject, rng)
    return made


def brackets(rng: random.Random) -> Sentence:
    """Opened and closed at random, up to MAX_DEPTH open at once."""
    made, still_open = Sentence(), list[int]()
    n_pairs = rng.randint(2, MAX_PAIRS)
    while len(made.words) < 2 * n_pairs:
        n_opened = (len(made.words) + len(still_open)) // 2
        may_open = n_opened < n_pairs and len(still_open) < MAX_DEPTH
        if may_open and (not still_open or rng.random() < 0.5):
            still_open.append(len(made.words))
            made.say(rng.choice(list(BRACKETS)))
            continue
        partner, at = still_open.pop(), len(made.words)
        opening = made.words[partner]
        made.say(BRACKETS[opening])
        made.rule(at, partner, BRACKETS[opening])
        made.rule(partner, at, opening)
    return made


def copying(rng: random.Random) -> Sentence:
    """Letters, "=" and the same letters again; each side tells the other."""
    letters = rng.choices(LETTERS, k=rng.randint(2, MAX_LETTERS))
    made = Sentence(["copy", ":", *letters, "=", *letters])
    for left, letter in enumerate(letters, start=2):
        right = left + len(letters) + 1
        made.rule(right, left, letter)
        made.rule(left, right, letter)
    return made


def reference(rng: random.Random) -> Sentence:
    """Two persons and a pronoun that means the one or the other, by its conjunction."""
    made, people = Sentence(), rng.sample(PERSONS, k=2)
    meant, deed = rng.randrange(2), rng.choice(DEEDS)
    first = _person(made, people[0], rng)
    made.say(deed)
    second = _person(made, people[1], rng)
    made.say(CONJUNCTIONS[meant])
    made.rule(len(made.words), (first, second)[meant], PRONOUN[people[meant]])
    made.say(PRONOUN[people[meant]], "was", rng.choice(FEELINGS))
    return made


RULES = {rule.__name__: rule for rule in (agreement, brackets, copying, reference)}


def is_held_out(words: Sequence[str]) -> bool:
    """Whether a sentence is kept for testing; a checksum decides, so training never makes it."""
    return zlib.crc32(" ".join(words).encode()) % HELD_OUT_SHARE == 0


def draw(rule: str, rng: random.Random, held_out: bool) -> Sentence:
    """A sentence of that rule, from those held out or from the others."""
    while True:
        made = RULES[rule](rng)
        if is_held_out(made.words) is held_out:
            return made


def _noun(made: Sentence, rng: random.Random) -> int:
    """Say "the [adjective] noun" in either number; the place of the noun."""
    made.say("the", *_adjective(rng, ADJECTIVES), rng.choice(rng.choice(NOUNS)))
    return len(made.words) - 1


def _person(made: Sentence, person: str, rng: random.Random) -> int:
    """Say "the [adjective] person"; the person's place."""
    made.say("the", *_adjective(rng, (*ADJECTIVES[:2], *FEELINGS)), person)
    return len(made.words) - 1


def _verb(
    made: Sentence, verbs: tuple[tuple[str, str], ...], subject: int, rng: random.Random
) -> None:
    """Say a verb of these in the number of the noun at `subject`."""
    right = [forms[NUMBER[made.words[subject]]] for forms in verbs]
    made.rule(len(made.words), subject, *right)
    made.say(rng.choice(right))


def _adjective(rng: random.Random, choice: Sequence[str]) -> list[str]:
    return [rng.choice(choice)] if rng.random() < 0.25 else []
