"""Numbers on their way in and out: those a client wrote, and those that JSON can carry."""

from reprlib import repr as shown  # cut short: a client may send anything, of any length
from typing import Any

import numpy as np

from viz_encoder.errors import SelectionError
from viz_encoder.trace import Trace

Head = int | str | tuple[int, ...]
MAX_DIGITS = 9


def parse_head(head: object, trace: Trace) -> Head:
    """A head's number, "mean", "max", or several numbers joined by commas."""
    if head in ("mean", "max"):
        return str(head)
    whole = isinstance(head, int) and not isinstance(head, bool)
    parts = head.split(",") if isinstance(head, str) else [str(head)] if whole else [""]
    last = trace.n_heads - 1
    if not all(map(is_number, parts)):
        raise SelectionError(f"There is no head {shown(head)}; choose 0 to {last}, mean or max.")
    numbers = tuple(dict.fromkeys(map(int, parts)))
    for number in numbers:
        if number > last:
            raise SelectionError(f"There is no head {number}; this run has heads 0 to {last}.")
    return numbers[0] if len(numbers) == 1 else numbers


def is_number(text: str) -> bool:
    """Whether these are plain digits; int() would also take "+3", "1_1" and digits of others."""
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


def parse_index(what: str, value: object, count: int) -> int:
    """A layer's or token's number, of which there are `count`; 3.0 is taken for 3."""
    whole = isinstance(value, int | float) and not isinstance(value, bool)
    if not whole or value not in range(count):
        raise SelectionError(f"There is no {what} {shown(value)}; choose 0 to {count - 1}.")
    return int(value)  # type: ignore[call-overload]


def parse_range(text: str, count: int) -> slice:
    """A range of tokens such as 3:9, either end of which may be left out."""
    start, _, stop = text.partition(":")
    first, last = start or "0", stop or str(count)
    if not (is_number(first) and is_number(last)):
        raise SelectionError(f"{shown(text)} is no range of tokens; write it as 0:{count}.")
    if not int(first) < int(last) <= count:
        raise SelectionError(f"{shown(text)} is not within this run's {count} tokens.")
    return slice(int(first), int(last))


def finite(values: Any) -> Any:
    """Numbers for JSON, which has no NaN and no infinity: null in their place."""
    array = np.asarray(values)
    numbers = array.astype(object)
    numbers[~np.isfinite(array)] = None
    return numbers.tolist()
