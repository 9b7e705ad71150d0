"""Seats: each seat of a class has its own sentence of the little language, with a word masked."""

import random
from dataclasses import dataclass
from functools import lru_cache

from viz_encoder.errors import SelectionError
from viz_encoder.lesson.grammar import PRONOUN, RULES, Sentence, draw

OWN_SENTENCE = "the keys to the cabinet [MASK] old"  # the default, without a seat
LAST_SEAT = 999
SEED = 17
FEWEST_WORDS, MOST_WORDS = 5, 11  # whose scores a question can list


@dataclass(frozen=True)
class Seat:
    """A seat's sentence; token 0 is [CLS], so word i is token i + 1."""

    number: int
    rule: str
    text: str  # with [MASK]
    word: str  # the only one that is right there
    masked: int  # the place of [MASK] among the words
    source: int  # the place of the word that decides


def seat(number: int) -> Seat:
    """The sentence of a seat: always the same, unlike all others, and never trained on.

    Raises:
        SelectionError: no such seat.
    """
    if number not in range(1, LAST_SEAT + 1):
        raise SelectionError(f"There is no seat {number}; choose 1 to {LAST_SEAT}.")
    return _seats()[number - 1]


@lru_cache(maxsize=1)
def _seats() -> tuple[Seat, ...]:
    """All of them, the rules in turn."""
    rng, found, texts = random.Random(SEED), list[Seat](), set[str]()
    rules = tuple(RULES)
    while len(found) < LAST_SEAT:
        rule = rules[len(found) % len(rules)]
        one = _masked(draw(rule, rng, held_out=True), rule, len(found) + 1, rng)
        if one is not None and one.text not in texts:
            texts.add(one.text)
            found.append(one)
    return tuple(found)


def _masked(made: Sentence, rule: str, number: int, rng: random.Random) -> Seat | None:
    """The sentence with one word masked, at a place where only that word is right."""
    places = [at for at, words in sorted(made.answers.items()) if len(words) == 1]
    if not FEWEST_WORDS <= len(made.words) <= MOST_WORDS or not places:
        return None
    if rule == "reference" and len({PRONOUN[word] for word in made.words if word in PRONOUN}) < 2:
        return None  # whoever is meant, the answer would be the same
    at = rng.choice(places)
    text = " ".join([*made.words[:at], "[MASK]", *made.words[at + 1 :]])
    return Seat(number, rule, text, made.words[at], at, made.sources[at])
