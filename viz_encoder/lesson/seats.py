"""Seats: each seat of a class has its own sentence of the little language, with a word masked."""

from dataclasses import dataclass
from functools import lru_cache

from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError

OWN_SENTENCE = "the keys to the cabinet [MASK] old"  # the default, without a seat
LAST_SEAT = 240


@dataclass(frozen=True)
class Seat:
    """A seat's sentence; token 0 is [CLS], so word i is token i + 1.

    In each, hiding the word that decides changes the answer, hiding any other does not, and `head`
    (layer, head) looks from [MASK] at that word most. scripts/choose_seats.py chose them.
    """

    number: int
    rule: str
    text: str  # with [MASK]
    word: str  # the only one that is right there
    masked: int  # the place of [MASK] among the words
    source: int  # the place of the word that decides
    head: tuple[int, int]

    @property
    def place(self) -> dict[str, int]:
        """Where the seat looks first."""
        layer, head = self.head
        return {"layer": layer, "head": head, "query": self.masked + 1, "key": self.source + 1}


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
    lines = asset("lessons/seats.txt").read_text(encoding="utf-8").splitlines()
    return tuple(_read(number, line) for number, line in enumerate(lines, start=1))


def _read(number: int, line: str) -> Seat:
    rule, at, masked, source, said = line.split(" ", maxsplit=4)
    words, place = said.split(), int(masked)
    text = " ".join([*words[:place], "[MASK]", *words[place + 1 :]])
    layer, head = map(int, at.split("."))
    return Seat(number, rule, text, words[place], place, int(source), (layer, head))
