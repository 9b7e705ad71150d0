"""Seats: each seat of a class has its own sentence of the little language, with a word masked."""

import random
from dataclasses import dataclass
from functools import lru_cache

from viz_encoder.errors import SelectionError
from viz_encoder.lesson.grammar import PRONOUN, RULES, Sentence, draw

OWN_SENTENCE = "the keys to the cabinet [MASK] old"  # the default, without a seat
LAST_SEAT = 999
SEED = 17
WORDED = {"brackets": "agreement", "copying": "reference"}  # rules of signs and letters alone
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
    """All seats, alternating the rules; a rule without words borrows a sentence."""
    rng, found, texts = random.Random(SEED), list[Seat](), set[str]()
    rules = tuple(RULES)
    while len(found) < LAST_SEAT:
        found.append(_another(rules[len(found) % len(rules)], len(found) + 1, rng, texts))
    rng = random.Random(SEED + 1)
    for at, one in enumerate(found):
        if one.rule not in WORDED.values():
            found[at] = _another(WORDED[one.rule], one.number, rng, texts)
    return tuple(found)


def _another(rule: str, number: int, rng: random.Random, texts: set[str]) -> Seat:
    """The next sentence of a rule that is none of these texts; it joins them."""
    while True:
        one = _masked(draw(rule, rng, held_out=True), rule, number, rng)
        if one is not None and one.text not in texts:
            texts.add(one.text)
            return one


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
