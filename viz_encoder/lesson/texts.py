"""Texts of the lesson, one file a language, and how each language writes numbers and words."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from reprlib import repr as shown
from typing import Any

from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError
from viz_encoder.shown import isolated

MINUS = "−"
FIRST = "en"


@dataclass(frozen=True)
class Shown:
    """A number as it is printed."""

    value: float
    decimals: int
    after_sign: bool = False  # a negative one in parentheses

    @property
    def rounded(self) -> float:
        """The number that a reader sees."""
        return round(self.value, self.decimals)


@dataclass(frozen=True)
class Token:
    """A token of the model, which is quoted."""

    name: str


@dataclass(frozen=True)
class Blocks:
    """So many blocks, as they are named after "after"."""

    n: int


Plain = int | str | Shown | Token | Blocks
TextValue = Plain | tuple[Plain | tuple[Plain, ...], ...]


@dataclass(frozen=True, eq=False)
class Texts:
    """All texts in one language; `exercises` by exercise name."""

    code: str
    decimal: str
    thousands: str
    separator: str
    quotes: tuple[str, str]
    blocks: tuple[str, str]  # one, and any other number of them
    exercises: Mapping[str, Any]
    answers: Mapping[str, str]  # in the teacher's list

    def say(self, template: str, given: Mapping[str, TextValue]) -> str:
        """The text with what is given in its places."""
        return template.format_map({name: self.write(value) for name, value in given.items()})

    def write(self, value: TextValue | tuple[Plain, ...]) -> str:
        """A number, a quoted token, or a list of them; a pair in a list is written side by side."""
        if isinstance(value, tuple):
            each = (" ".join(map(self.write, v)) if isinstance(v, tuple) else v for v in value)
            words = all(isinstance(v, Token | str) for v in value)
            return (", " if words else self.separator).join(map(self.write, each))
        if isinstance(value, Token):
            return f"{self.quotes[0]}{isolated(value.name)}{self.quotes[1]}"
        if isinstance(value, Blocks):
            return f"{value.n} {self.blocks[value.n != 1]}"
        if isinstance(value, Shown):
            text = self._number(f"{value.rounded + 0.0:,.{value.decimals}f}")
            return f"({text})" if value.after_sign and value.rounded < 0 else text
        return self._number(f"{value:,}") if isinstance(value, int) else value

    def _number(self, text: str) -> str:
        marks = {",": self.thousands, ".": self.decimal, "-": MINUS}
        return "".join(marks.get(mark, mark) for mark in text)


def languages() -> tuple[str, ...]:
    """The languages there are a file of, English first."""
    found = sorted(path.stem for path in asset("lessons").glob("*.json"))
    return tuple(sorted(found, key=lambda code: code != FIRST))


@lru_cache(maxsize=16)
def texts_of(language: str = FIRST) -> Texts:
    """The texts in a language.

    Raises:
        SelectionError: there is no file of it.
    """
    if language not in languages():
        raise SelectionError(
            f"There is no lesson in {shown(language)}; choose one of {', '.join(languages())}."
        )
    content = json.loads(asset(f"lessons/{language}.json").read_text(encoding="utf-8"))
    return Texts(
        code=language,
        **content["language"],
        exercises=content["exercises"],
        answers=content["answers"],
    )
