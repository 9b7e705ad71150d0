"""Whole numbers as they are written in an address or a command line."""

MAX_DIGITS = 9


def is_digits(text: str) -> bool:
    """Whether these are plain digits; int() would also take "+3", "1_1" and digits of others."""
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


def written_number(text: str) -> int | None:
    """The whole number, such as "-3"; None if it is none."""
    return int(text) if is_digits(text.removeprefix("-")) else None


def written_heads(text: str) -> int | tuple[int, ...] | None:
    """One head's number, or those of several ("1,7"), none twice; None if it is neither."""
    parts = text.split(",")
    if not all(map(is_digits, parts)):
        return None
    numbers = tuple(dict.fromkeys(map(int, parts)))
    return numbers[0] if len(numbers) == 1 else numbers
