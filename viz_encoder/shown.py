"""Formats values for display: one line at a prompt, a small table in a notebook."""

import reprlib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from html import escape
from typing import Any

MOST = 200  # characters of a line
MOST_CELL = 300  # per table cell
FEW = 4  # entries of a tuple that are written out
LETTERS = 40  # per text within a line
DIGITS = 30  # Python refuses to write out numbers of thousands of them
ISOLATE, POP = "\u2068", "\u2069"
TABLE = "border-collapse:collapse;font-size:13px;text-align:left"
CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top"


def isolated(text: str) -> str:
    """The text; what is read from right to left within first strong isolate and pop (UAX 9).

    Then it does not move the quotes and numbers beside it, and the ## of a piece of a word stands
    where its word goes on.
    """
    if text.startswith(ISOLATE):
        return text
    turned = any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in text)
    return f"{ISOLATE}{text}{POP}" if turned else text


def unisolated(text: str) -> str:
    """The text as it was before `isolated`, for files that other programs read."""
    return text.replace(ISOLATE, "").replace(POP, "")


def quoted(text: str) -> str:
    """A token or a word in a sentence: “text”."""
    return f"“{isolated(text)}”"


def after_blocks(n: int) -> str:
    """Name of a hidden state by its number of blocks: "after 1 block"."""
    return f"after {counted(n, 'block')}"


def counted(n: int, noun: str, plural: str = "") -> str:
    """A number and its noun: "1 head", "12 heads", "2 queries"."""
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"


def listed(words: Sequence[str]) -> str:
    """Words in a sentence: "a", "a and b", "a, b and c"."""
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


def continued(sentence: str) -> str:
    """A sentence as it stands behind other words: its first letter is small."""
    return sentence[:1].lower() + sentence[1:]


def small(value: float, digits: int = 1) -> str:
    """A number by its power of ten, as the page's scripts write it: "1.2e-6"."""
    number, _, power = f"{value:.{digits}e}".partition("e")
    return f"{number}e{int(power)}" if power else number  # infinity has none


class OneLine:
    """A dataclass whose repr is one line of at most 200 characters, arrays as their shapes."""

    def __repr__(self) -> str:
        """The class and each field, cut short."""
        said = (f"{one.name}={brief(getattr(self, one.name))}" for one in fields(self) if one.repr)  # type: ignore[arg-type]
        return one_line(f"{type(self).__name__}({', '.join(said)})")


def one_line(text: str) -> str:
    """The text on one line: at most 200 characters, those that break or turn a line escaped."""
    plain = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[: 2 * MOST])
    return plain if len(plain) <= MOST else f"{plain[: MOST - 2]} …"


def brief(value: object) -> str:
    """A value in a few words: an array as its type and shape, a long tuple as its length."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        sizes = "×".join(map(str, value.shape)) or "1 value"
        return f"{str(value.dtype).removeprefix('torch.')} {sizes}"
    if isinstance(value, str):
        text = str(value)  # the value of an enum
        return repr(text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…")
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int) and abs(value) >= 10**DIGITS:
        return f"a number of more than {DIGITS} digits"
    if isinstance(value, OneLine):
        return type(value).__name__
    if isinstance(value, Mapping):
        return f"{{{', '.join(brief(key) for key in list(value)[:FEW])}{_more(value)}}}"
    if isinstance(value, tuple | list):
        if any(isinstance(each, OneLine | tuple | list | Mapping) for each in value):
            return f"({len(value)} × {type(value[0]).__name__})"
        return f"({', '.join(map(brief, value[:FEW]))}{_more(value)})"
    return reprlib.repr(value)


def facts_html(title: str, facts: Mapping[str, object]) -> str:
    """A heading and a table of two columns as self-contained HTML; all text is escaped."""
    said = {name: value for name, value in facts.items() if value not in ("", None)}
    rows = (f"<tr>{_cell('th', name)}{_cell('td', value)}</tr>" for name, value in said.items())
    body = "".join(rows)
    return f'<div><b>{_escaped(title)}</b><table style="{TABLE}">{body}</table></div>'


def rows_html(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a header as self-contained HTML; all text is escaped."""
    head = "".join(_cell("th", name) for name in names)
    lines = ("".join(_cell("td", value) for value in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<table style="{TABLE}"><tr>{head}</tr>{body}</table>'


def _cell(tag: str, value: object) -> str:
    return f'<{tag} style="{CELL}">{_escaped(value)}</{tag}>'


def _escaped(value: object) -> str:
    text = str(value)
    return escape(text if len(text) <= MOST_CELL else f"{text[: MOST_CELL - 1]}…")


def _more(values: Any) -> str:
    return f", … {len(values)} in all" if len(values) > FEW else ""
