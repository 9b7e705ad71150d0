"""Readable: texts and runs with what would hide, turn or break others written out."""

import re
import unicodedata
from dataclasses import replace

from viz_encoder.trace import Trace

# Control, format (bidi, zero-width), surrogates (no text at all) and line separators.
INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
JOINERS = {"\u200d", "\ufe0f"}  # they hold one emoji together
BROKEN = re.compile("[\ud800-\udfff]")  # halves of pairs, which have no UTF-8
MAX_NAME = 80  # characters of a token's name that a label could ever show


def shortened(text: str, most: int = MAX_NAME) -> str:
    """The printable text; what is longer than a label could show loses its middle."""
    if len(text) > most:
        half = (most - 1) // 2
        text = f"{text[:half]}…{text[-half:]}"
    return printable(text)


def printable(text: str) -> str:
    """The text with every character that would hide or turn others written out as U+…."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    hidden = unicodedata.category(char) in INVISIBLE and char not in JOINERS
    return f"⟨U+{ord(char):04X}⟩" if hidden else char


def readable(trace: Trace) -> Trace:
    """The run with broken characters (lone surrogates) written out: they have no UTF-8."""
    sample = trace.sample
    if not any(BROKEN.search(text) for text in (*sample.tokens, *sample.texts)):
        return trace
    tokens, texts = tuple(map(printable, sample.tokens)), tuple(map(_unbroken, sample.texts))
    return replace(trace, sample=replace(sample, tokens=tokens, texts=texts))


def _unbroken(text: str) -> str:
    """Replace line breaks without changing the length, because spans index the text."""
    return BROKEN.sub("\ufffd", text)
