"""A result as a short code to hand in: which exercises were right on which seat, and no name.

Twelve characters in three groups: ten hold the lesson (4 bits), the seat (10 bits) and one bit for
each of the 36 exercises; two hold the remainder by 1021, which finds every wrong character and
every two neighbors that changed places. assets/web/learn/result_code.js does the same.
"""

from collections.abc import Collection
from dataclasses import dataclass
from reprlib import repr as shown

from viz_encoder.errors import InputError
from viz_encoder.lesson.seats import LAST_SEAT

LESSON = 1  # the lesson of these twelve steps; another list of exercises is another number
N_STEPS, N_LEVELS = 12, 3
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: without I, L, O and U
READ_AS = str.maketrans("OIL", "011")
N_PAYLOAD, N_CHECK, GROUP = 10, 2, 4
PRIME = 1021
StepLevel = tuple[int, int]  # step and level, from 1


@dataclass(frozen=True)
class Result:
    """Contents of a code."""

    seat: int
    right: frozenset[StepLevel]
    lesson: int = LESSON


def encode(result: Result) -> str:
    """The code of a result, such as "2130-0001-01PA".

    Raises:
        InputError: no such lesson, seat or exercise.
    """
    if not 0 < result.lesson < 16 or not 0 <= result.seat <= LAST_SEAT:
        raise InputError(
            f"Lesson {result.lesson}, seat {result.seat}: give lesson 1 to 15 and seat 0 (none) to "
            f"{LAST_SEAT}."
        )
    payload = (result.lesson * 1024 + result.seat) * 2 ** (N_STEPS * N_LEVELS)
    payload += sum(2 ** _bit(place) for place in set(result.right))
    digits = _digits(payload, N_PAYLOAD) + _digits(payload % PRIME, N_CHECK)
    return "-".join(digits[at : at + GROUP] for at in range(0, len(digits), GROUP))


def decode(code: str) -> Result:
    """Decode a code; case, spaces and missing hyphens do not matter.

    Raises:
        InputError: the text is not a result code, or has a typo.
    """
    plain = "".join(code.upper().split()).replace("-", "").translate(READ_AS)
    if len(plain) != N_PAYLOAD + N_CHECK or not set(plain) <= set(ALPHABET):
        raise InputError(
            f"{shown(code)} is not a result code; it has {N_PAYLOAD + N_CHECK} letters and digits, "
            "such as 2130-0001-01PA."
        )
    payload, check = _value(plain[:N_PAYLOAD]), _value(plain[N_PAYLOAD:])
    head, bits = divmod(payload, 2 ** (N_STEPS * N_LEVELS))
    lesson, seat = divmod(head, 1024)
    if payload % PRIME != check or not lesson or seat > LAST_SEAT:
        raise InputError(f"{shown(code)} has a wrong character; copy the code from the page again.")
    right = (place for place in all_places() if bits >> _bit(place) & 1)
    return Result(seat, frozenset(right), lesson)


def all_places() -> Collection[StepLevel]:
    """All exercises as (step, level), in order."""
    return [(step, level) for step in range(1, N_STEPS + 1) for level in range(1, N_LEVELS + 1)]


def _bit(place: StepLevel) -> int:
    step, level = place
    if not (1 <= step <= N_STEPS and 1 <= level <= N_LEVELS):
        raise InputError(f"There is no exercise {step}.{level}; choose 1.1 to 12.3.")
    return (step - 1) * N_LEVELS + level - 1


def _digits(value: int, count: int) -> str:
    return "".join(ALPHABET[value >> 5 * at & 31] for at in reversed(range(count)))


def _value(digits: str) -> int:
    value = 0
    for digit in digits:
        value = 32 * value + ALPHABET.index(digit)
    return value
