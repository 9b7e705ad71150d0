"""A result as a short code to hand in: which exercises were tried and right on which seat, no name.

Eighteen characters in three groups. Sixteen hold the lesson (4 bits), the seat (10 bits) and, to
the base 3, what became of each exercise: not tried, not right, or right. Two hold the remainder by
1021, which finds every wrong character and every two neighbors that changed places.
assets/web/learn/result_code.js does the same.
"""

from dataclasses import dataclass
from reprlib import repr as shown

from viz_encoder.errors import InputError
from viz_encoder.lesson.seats import LAST_SEAT

StepLevel = tuple[int, int]  # step and level, from 1
LESSON = 2  # the lesson of these exercises; another list of them is another number
N_STEPS, USUAL, MORE = 12, 3, {4: 4, 9: 5}  # exercises of a step
PLACES: tuple[StepLevel, ...] = tuple(
    (step, level) for step in range(1, N_STEPS + 1) for level in range(1, MORE.get(step, USUAL) + 1)
)
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: without I, L, O and U
READ_AS = str.maketrans("OIL", "011")
N_PAYLOAD, N_CHECK, GROUP = 16, 2, 6
RESULTS = 3 ** len(PLACES)
PRIME = 1021
UNTRIED, WRONG, RIGHT = 0, 1, 2


@dataclass(frozen=True)
class Result:
    """Contents of a code; an exercise that is neither right nor wrong was not tried."""

    seat: int
    right: frozenset[StepLevel]
    wrong: frozenset[StepLevel] = frozenset()
    lesson: int = LESSON


def encode(result: Result) -> str:
    """The code of a result, such as "100800-123456-789ABC".

    Raises:
        InputError: no such lesson, seat or exercise.
    """
    if not 0 < result.lesson < 16 or not 0 <= result.seat <= LAST_SEAT:
        raise InputError(
            f"Lesson {result.lesson}, seat {result.seat}: give lesson 1 to 15 and seat 0 (none) to "
            f"{LAST_SEAT}."
        )
    for step, level in (result.right | result.wrong).difference(PLACES):
        raise InputError(f"There is no exercise {step}.{level}; choose 1.1 to 12.3.")
    payload = (result.lesson * 1024 + result.seat) * RESULTS
    for at, place in enumerate(PLACES):
        became = RIGHT if place in result.right else WRONG if place in result.wrong else UNTRIED
        payload += became * 3**at
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
            f"such as {encode(Result(17, frozenset()))}."
        )
    payload, check = _value(plain[:N_PAYLOAD]), _value(plain[N_PAYLOAD:])
    head, results = divmod(payload, RESULTS)
    lesson, seat = divmod(head, 1024)
    if payload % PRIME != check or lesson != LESSON or seat > LAST_SEAT:
        raise InputError(f"{shown(code)} has a wrong character; copy the code from the page again.")
    became = [results // 3**at % 3 for at in range(len(PLACES))]

    def those(kind: int) -> frozenset[StepLevel]:
        return frozenset(place for place, its in zip(PLACES, became, strict=True) if its == kind)

    return Result(seat, those(RIGHT), those(WRONG))


def _digits(value: int, count: int) -> str:
    return "".join(ALPHABET[value >> 5 * at & 31] for at in reversed(range(count)))


def _value(digits: str) -> int:
    value = 0
    for digit in digits:
        value = 32 * value + ALPHABET.index(digit)
    return value
