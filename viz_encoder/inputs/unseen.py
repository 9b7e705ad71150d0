"""Invisible characters in a text: a sentence that names those the tokenizer drops."""

import unicodedata
from collections.abc import Callable, Sequence

UNSEEN = ("Cc", "Cf")  # Unicode's categories of control and format characters
JOINERS = "\u200c\u200d"  # ordinary in emoji and in many scripts
NAMED = 8  # listed in a note
Drops = Callable[[Sequence[str]], bool]


def dropped_said(texts: Sequence[str], drops: Drops) -> list[str]:
    """A note that names the unseen characters without which the tokens are the same, or none.

    Args:
        texts: what was read.
        drops: whether the tokens are the same without some characters.
    """
    unseen = sorted({char for text in texts for char in text if _is_unseen(char)})
    if not unseen or not drops(unseen):
        unseen = [char for char in unseen[:NAMED] if drops([char])]
    if not unseen:
        return []
    names = ", ".join(map(_code_point, unseen[:NAMED]))
    more = f" and {len(unseen) - NAMED} others" if len(unseen) > NAMED else ""
    return [f"The text has invisible characters that this tokenizer drops: {names}{more}."]


def _is_unseen(char: str) -> bool:
    """NUL and other controls, bidi controls, zero-width characters; not spaces or new lines."""
    if char.isprintable() or char.isspace() or char in JOINERS:
        return False
    return unicodedata.category(char) in UNSEEN


def _code_point(char: str) -> str:
    """Such as U+202E (right-to-left override)."""
    name = unicodedata.name(char, "").lower() or ("NUL" if char == "\0" else "a control character")
    return f"U+{ord(char):04X} ({name})"
